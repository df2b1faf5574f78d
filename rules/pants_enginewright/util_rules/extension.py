"""`cuda_extension`: the arithmetic of CUDA headers as a Python module for the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional

from pants.core.util_rules.source_files import SourceFiles, SourceFilesRequest
from pants.engine.addresses import Address
from pants.engine.fs import Digest, PathGlobs
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import Target

from pants_enginewright.cuda_targets import (
    CompilerFlagsField,
    CudaExtensionTarget,
    ExtensionSourcesField,
    IncludeDirsField,
    ModuleField,
    SanitizersField,
)
from pants_enginewright.fields import thaw
from pants_enginewright.util_rules.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.util_rules.addresses import TargetOfKind, TargetOfKindRequest
from pants_enginewright.util_rules.build_file import CheckBuildFile, CheckedBuildFile
from pants_enginewright.util_rules.files import ComposeFiles, Files, ListFiles
from pants_enginewright.util_rules.includes import Headers, HeadersRequest
from pants_enginewright.util_rules.kernels import FOLDER, HostCompiler, HostCompilerRequest


@dataclass(frozen=True)
class ExtensionRequest:
    spec: str
    origin: str
    relative_to: Optional[Address]


@dataclass(frozen=True)
class Extension:
    files: Files
    """The module, named as the interpreter wants it."""
    step: ActionResult


def plan_parameters(target: Target, host: HostCompiler) -> Dict[str, Any]:
    return {
        "name": target[ModuleField].value or target.address.target_name,
        "flags": thaw(target[CompilerFlagsField].value),
        "include_dirs": [f"inputs/{FOLDER}/{d}" for d in thaw(target[IncludeDirsField].value)],
        "sanitizers": thaw(target[SanitizersField].value),
        "host_compiler": {"name": "gcc", "version": host.version},
    }


@rule(desc="Compile an extension module")
async def compile_extension(request: ExtensionRequest) -> Extension:
    found = await Get(
        TargetOfKind,
        TargetOfKindRequest(
            request.spec, (CudaExtensionTarget.alias,), request.origin, request.relative_to
        ),
    )
    target = found.target
    await Get(CheckedBuildFile, CheckBuildFile(target.address.spec_path))
    sources, host = await MultiGet(
        Get(SourceFiles, SourceFilesRequest([target[ExtensionSourcesField]])),
        Get(HostCompiler, HostCompilerRequest()),
    )
    include_dirs = tuple(thaw(target[IncludeDirsField].value))
    headers = await Get(Headers, HeadersRequest(sources.snapshot.files, include_dirs))
    digest = await Get(Digest, PathGlobs(headers.paths))
    listed_sources, listed_headers = await MultiGet(
        Get(Files, ListFiles(sources.snapshot.digest)), Get(Files, ListFiles(digest))
    )
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "compile_extension",
            address=target.address,
            environment="extension",
            inputs=[
                ActionInput.of("sources", listed_sources, FOLDER),
                ActionInput.of("headers", listed_headers, FOLDER),
            ],
            parameters=plan_parameters(target, host),
        ),
    )
    wanted = [file.path for file in result.files.entries if file.path != "result.json"]
    files = await Get(Files, ComposeFiles, ComposeFiles.named(result.files.entries, *wanted))
    return Extension(files, result)


def rules() -> Iterable[Any]:
    return collect_rules()
