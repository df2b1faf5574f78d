"""`cuda_kernels` and `cuda_extension`: sources and the headers they include, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Tuple

from pants.engine.addresses import Address
from pants.engine.process import Process, ProcessCacheScope, ProcessResult
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import Target
from pants.util.logging import LogLevel

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.build_file import CheckBuildFile, CheckedBuildFile
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.engines.targets import ComputeCapabilitiesField
from pants_enginewright.kernels.includes import FOLDER, Code, CodeRequest
from pants_enginewright.kernels.targets import (
    CodeSourcesField,
    CompilerFlagsField,
    CudaExtensionTarget,
    CudaKernelsTarget,
    IncludeDirsField,
    MaxRegistersField,
    ModuleField,
    PtxField,
    SanitizersField,
)
from pants_enginewright.steps.action import ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, File, Files
from pants_enginewright.steps.step_outputs import RESULT

DESCRIPTOR = "kernels.json"


@dataclass(frozen=True)
class HostCompilerRequest:
    """Asks for the C++ compiler, with which nvcc preprocesses too."""


@dataclass(frozen=True)
class HostCompiler:
    version: str
    """Empty where there is none; the compile step says what to install."""


@dataclass(frozen=True)
class CompileRequest(NamedTarget):
    """Asks for the compiled code of a target of one of `kinds`, which `KINDS` has."""

    kinds: Tuple[str, ...] = (CudaKernelsTarget.alias, CudaExtensionTarget.alias)


@dataclass(frozen=True)
class CompiledCode:
    address: Address
    files: Files
    """Kernels: cubins, PTX, fatbin and `kernels.json`. An extension: the module."""
    step: ActionResult

    def shipped_path(self, file: File) -> str:
        """Where a file of kernels lies in the package of an engine."""
        return f"kernels/{self.address.target_name}/{file.path}"

    def described(self) -> Dict[str, Any]:
        """Kernels as `engine.json` says it."""
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


@dataclass(frozen=True)
class Kind:
    action: str
    environment: str
    parameters: Callable[[Target], Dict[str, Any]]
    """Those of the step that only this kind has."""


def kernel_parameters(target: Target) -> Dict[str, Any]:
    return {
        "compute_capabilities": thaw(target[ComputeCapabilitiesField].value),
        "ptx": target[PtxField].value,
        "max_registers": target[MaxRegistersField].value,
    }


def extension_parameters(target: Target) -> Dict[str, Any]:
    return {
        "name": target[ModuleField].value or target.address.target_name,
        "sanitizers": thaw(target[SanitizersField].value),
    }


KINDS = {
    CudaKernelsTarget.alias: Kind("compile_kernels", "cuda", kernel_parameters),
    CudaExtensionTarget.alias: Kind("compile_extension", "extension", extension_parameters),
}


def plan_parameters(target: Target, host: HostCompiler) -> Dict[str, Any]:
    return {
        **KINDS[target.alias].parameters(target),
        "flags": thaw(target[CompilerFlagsField].value),
        "include_dirs": [f"inputs/{FOLDER}/{d}" for d in thaw(target[IncludeDirsField].value)],
        "host_compiler": {"name": "gcc", "version": host.version},
    }


@rule(desc="Compile code")
async def compile_code(request: CompileRequest) -> CompiledCode:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(*request.kinds))
    target = found.target
    await Get(CheckedBuildFile, CheckBuildFile(target.address.spec_path))
    include_dirs = tuple(thaw(target[IncludeDirsField].value))
    code, host = await MultiGet(
        Get(Code, CodeRequest(target[CodeSourcesField], include_dirs)),
        Get(HostCompiler, HostCompilerRequest()),
    )
    kind = KINDS[target.alias]
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            kind.action,
            address=target.address,
            environment=kind.environment,
            inputs=code.inputs,
            parameters=plan_parameters(target, host),
        ),
    )
    entries = tuple(file for file in result.files.entries if file.path != RESULT)
    return CompiledCode(target.address, await Get(Files, ComposeFiles(entries)), result)


def rules() -> Iterable[Any]:
    return collect_rules()
