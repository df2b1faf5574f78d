"""`cuda_kernels`: sources and the headers they include, compiled by locked wheels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.internals.graph import Owners, OwnersRequest
from pants.engine.process import Process, ProcessCacheScope, ProcessResult
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import (
    FieldSet,
    InferDependenciesRequest,
    InferredDependencies,
    MultipleSourcesField,
    SourcesPaths,
    SourcesPathsRequest,
    Target,
)
from pants.engine.unions import UnionRule
from pants.util.logging import LogLevel

from pants_enginewright.fields import thaw
from pants_enginewright.targets.cuda import (
    CompilerFlagsField,
    CudaKernelsTarget,
    CudaSourcesField,
    ExtensionSourcesField,
    IncludeDirsField,
    MaxRegistersField,
    PtxField,
)
from pants_enginewright.targets.engines import ComputeCapabilitiesField
from pants_enginewright.util_rules.action import ActionRequest, ActionResult
from pants_enginewright.util_rules.addresses import TargetOfKind, TargetOfKindRequest
from pants_enginewright.util_rules.build_file import CheckBuildFile, CheckedBuildFile
from pants_enginewright.util_rules.files import ComposeFiles, File, Files
from pants_enginewright.util_rules.includes import (
    FOLDER,
    Code,
    CodeRequest,
    Headers,
    HeadersRequest,
)

DESCRIPTOR = "kernels.json"


@dataclass(frozen=True)
class HostCompilerRequest:
    """Asks for the C++ compiler that nvcc preprocesses with."""


@dataclass(frozen=True)
class HostCompiler:
    version: str
    """Empty where there is none; the compile step says what to install."""


@dataclass(frozen=True)
class KernelsRequest:
    spec: str
    origin: str
    relative_to: Optional[Address]


@dataclass(frozen=True)
class Kernels:
    address: Address
    files: Files
    """Cubins, PTX, fatbin and `kernels.json`."""
    step: ActionResult

    def shipped_path(self, file: File) -> str:
        """Where a file lies in the package of an engine."""
        return f"kernels/{self.address.target_name}/{file.path}"

    def described(self) -> Dict[str, Any]:
        """As `engine.json` says it."""
        descriptor = self.files.by_path()[DESCRIPTOR]
        return {
            "name": self.address.target_name,
            "address": str(self.address),
            "path": self.shipped_path(descriptor),
            "sha256": descriptor.sha256,
            "functions": self.step.parsed()["kernels"],
        }


_VERSION = "if [ -x /usr/bin/g++ ]; then /usr/bin/g++ -dumpfullversion; fi"


@rule(desc="Find the host compiler", level=LogLevel.DEBUG)
async def find_host_compiler(_: HostCompilerRequest) -> HostCompiler:
    result = await Get(
        ProcessResult,
        Process(
            ["/bin/sh", "-c", _VERSION],
            description="Ask the host compiler for its version",
            level=LogLevel.DEBUG,
            env={"PATH": "/usr/bin:/bin"},
            cache_scope=ProcessCacheScope.PER_RESTART_SUCCESSFUL,
        ),
    )
    return HostCompiler(result.stdout.decode().strip())


def plan_parameters(target: Target, host: HostCompiler) -> Dict[str, Any]:
    return {
        "compute_capabilities": thaw(target[ComputeCapabilitiesField].value),
        "ptx": target[PtxField].value,
        "flags": thaw(target[CompilerFlagsField].value),
        "include_dirs": [f"inputs/{FOLDER}/{d}" for d in thaw(target[IncludeDirsField].value)],
        "max_registers": target[MaxRegistersField].value,
        "host_compiler": {"name": "gcc", "version": host.version},
    }


@rule(desc="Compile CUDA kernels")
async def compile_kernels(request: KernelsRequest) -> Kernels:
    found = await Get(
        TargetOfKind,
        TargetOfKindRequest(
            request.spec, (CudaKernelsTarget.alias,), request.origin, request.relative_to
        ),
    )
    target = found.target
    await Get(CheckedBuildFile, CheckBuildFile(target.address.spec_path))
    include_dirs = tuple(thaw(target[IncludeDirsField].value))
    code, host = await MultiGet(
        Get(Code, CodeRequest(target[CudaSourcesField], include_dirs)),
        Get(HostCompiler, HostCompilerRequest()),
    )
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "compile_kernels",
            address=target.address,
            environment="cuda",
            inputs=code.inputs,
            parameters=plan_parameters(target, host),
        ),
    )
    wanted = [file.path for file in result.files.entries if file.path != "result.json"]
    files = await Get(Files, ComposeFiles, ComposeFiles.named(result.files.entries, *wanted))
    return Kernels(target.address, files, result)


@dataclass(frozen=True)
class KernelDependenciesFieldSet(FieldSet):
    required_fields = (CudaSourcesField, IncludeDirsField)

    sources: CudaSourcesField
    include_dirs: IncludeDirsField


class InferKernelDependencies(InferDependenciesRequest[KernelDependenciesFieldSet]):
    infer_from = KernelDependenciesFieldSet


@dataclass(frozen=True)
class ExtensionDependenciesFieldSet(FieldSet):
    required_fields = (ExtensionSourcesField, IncludeDirsField)

    sources: ExtensionSourcesField
    include_dirs: IncludeDirsField


class InferExtensionDependencies(InferDependenciesRequest[ExtensionDependenciesFieldSet]):
    infer_from = ExtensionDependenciesFieldSet


@dataclass(frozen=True)
class IncludedHeaders:
    """Asks for the targets that own what sources include."""

    sources: MultipleSourcesField
    include_dirs: IncludeDirsField


@dataclass(frozen=True)
class HeaderOwners:
    addresses: Tuple[Address, ...]


@rule
async def find_header_owners(request: IncludedHeaders) -> HeaderOwners:
    paths = await Get(SourcesPaths, SourcesPathsRequest(request.sources))
    include_dirs = tuple(thaw(request.include_dirs.value))
    headers = await Get(Headers, HeadersRequest(paths.files, include_dirs))
    return HeaderOwners(tuple(await Get(Owners, OwnersRequest(headers.paths))))


@rule(desc="Infer dependencies of CUDA kernels")
async def infer_kernel_dependencies(request: InferKernelDependencies) -> InferredDependencies:
    fields = request.field_set
    owners = await Get(HeaderOwners, IncludedHeaders(fields.sources, fields.include_dirs))
    return InferredDependencies(owners.addresses)


@rule(desc="Infer dependencies of an extension module")
async def infer_extension_dependencies(
    request: InferExtensionDependencies,
) -> InferredDependencies:
    fields = request.field_set
    owners = await Get(HeaderOwners, IncludedHeaders(fields.sources, fields.include_dirs))
    return InferredDependencies(owners.addresses)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        UnionRule(InferDependenciesRequest, InferExtensionDependencies),
        UnionRule(InferDependenciesRequest, InferKernelDependencies),
    )
