"""`cuda_extension`: the arithmetic of CUDA headers as a Python module for the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional

from pants.engine.addresses import Address
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import Target

from pants_enginewright.fields import thaw
from pants_enginewright.targets.cuda import (
    CompilerFlagsField,
    CudaExtensionTarget,
    ExtensionSourcesField,
    IncludeDirsField,
    ModuleField,
    SanitizersField,
)
from pants_enginewright.util_rules.action import ActionRequest, ActionResult
from pants_enginewright.util_rules.addresses import TargetOfKind, TargetOfKindRequest
from pants_enginewright.util_rules.build_file import CheckBuildFile, CheckedBuildFile
from pants_enginewright.util_rules.files import ComposeFiles, Files
from pants_enginewright.util_rules.includes import FOLDER, Code, CodeRequest
from pants_enginewright.util_rules.kernels import HostCompiler, HostCompilerRequest


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
    include_dirs = tuple(thaw(target[IncludeDirsField].value))
    code, host = await MultiGet(
        Get(Code, CodeRequest(target[ExtensionSourcesField], include_dirs)),
        Get(HostCompiler, HostCompilerRequest()),
    )
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "compile_extension",
            address=target.address,
            environment="extension",
            inputs=code.inputs,
            parameters=plan_parameters(target, host),
        ),
    )
    wanted = [file.path for file in result.files.entries if file.path != "result.json"]
    files = await Get(Files, ComposeFiles, ComposeFiles.named(result.files.entries, *wanted))
    return Extension(files, result)


def rules() -> Iterable[Any]:
    return collect_rules()
