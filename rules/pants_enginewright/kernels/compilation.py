"""`cuda_kernels`, `cuda_extension`, `operator_library`: sources and their headers, compiled."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass
from typing import Any, ClassVar, Dict, Iterable, Type

from pants.engine.addresses import Address
from pants.engine.process import Process, ProcessCacheScope, ProcessResult
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.unions import union
from pants.util.logging import LogLevel

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.compute_capabilities import ComputeCapabilitiesField
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Kind, Steps
from pants_enginewright.kernels import includes
from pants_enginewright.kernels.includes import FOLDER, Code, CodeRequest
from pants_enginewright.kernels.targets import (
    CodeSourcesField,
    CompilerFlagsField,
    CudaSourcesField,
    ExtensionSourcesField,
    IncludeDirsField,
    InterfaceField,
    MaxRegistersField,
    ModuleField,
    OperatorSourcesField,
    PtxField,
    SanitizersField,
)
from pants_enginewright.steps import action
from pants_enginewright.steps.action import ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, File, Files
from pants_enginewright.steps.hermetic_process import hermetic_process
from pants_enginewright.steps.step_outputs import RESULT

DESCRIPTOR = "kernels.json"


@dataclass(frozen=True)
class HostCompilerRequest:
    """Asks for the C++ compiler, with which nvcc preprocesses too."""


@dataclass(frozen=True)
class HostCompiler:
    version: str
    """Empty where there is none; the compile step says what to install."""


@union
@dataclass(frozen=True)
class CompileCode(Kind, metaclass=ABCMeta):
    """Subclass for a kind of target whose sources a step compiles, and list `*X.rules()`."""

    action: ClassVar[str]
    """The step that compiles."""
    tools: ClassVar[str]
    """Kind of the tool environment that it runs in."""

    sources: CodeSourcesField
    flags: CompilerFlagsField
    include_dirs: IncludeDirsField

    @property
    def steps(self) -> Steps:
        return Steps.of(self.action, environments=(self.tools,))

    def own_parameters(self) -> Dict[str, Any]:
        """Parameters of the step that only this kind has."""
        raise NotImplementedError

    def parameters(self, host: HostCompiler) -> Dict[str, Any]:
        return {
            **self.own_parameters(),
            "flags": thaw(self.flags.value),
            "include_dirs": [f"inputs/{FOLDER}/{d}" for d in thaw(self.include_dirs.value)],
            "host_compiler": {"name": "gcc", "version": host.version},
        }


@dataclass(frozen=True)
class CompileKernels(CompileCode):
    """A `cuda_kernels` target."""

    required_fields = (CudaSourcesField, ComputeCapabilitiesField)
    action = "compile_kernels"
    tools = "cuda"

    compute_capabilities: ComputeCapabilitiesField
    ptx: PtxField
    max_registers: MaxRegistersField

    def own_parameters(self) -> Dict[str, Any]:
        return {
            "compute_capabilities": self.compute_capabilities.in_order(),
            "ptx": self.ptx.value,
            "max_registers": self.max_registers.value,
        }


@dataclass(frozen=True)
class CompileExtension(CompileCode):
    """A `cuda_extension` target."""

    required_fields = (ExtensionSourcesField, SanitizersField)
    action = "compile_extension"
    tools = "extension"

    module: ModuleField
    sanitizers: SanitizersField

    def own_parameters(self) -> Dict[str, Any]:
        return {
            "name": self.module.value or self.address.target_name,
            "sanitizers": thaw(self.sanitizers.value),
        }


@dataclass(frozen=True)
class CompileOperators(CompileCode):
    """An `operator_library` target."""

    required_fields = (OperatorSourcesField, InterfaceField)
    action = "compile_operators"

    interface: InterfaceField
    compute_capabilities: ComputeCapabilitiesField

    @property
    def tools(self) -> str:  # type: ignore[override]
        """torch's headers come in its wheel; a source for others declares what it calls."""
        return "torch_operators" if self.interface.value == "torch" else "cuda"

    def own_parameters(self) -> Dict[str, Any]:
        return {
            "name": f"enginewright_{self.interface.value}",
            "interface": self.interface.value,
            "compute_capabilities": self.compute_capabilities.in_order(),
        }


@dataclass(frozen=True)
class CompileRequest(NamedTarget):
    """Asks for the compiled code of a target that is of `kind`."""

    kind: Type[CompileCode] = CompileCode


@dataclass(frozen=True)
class _Compiled:
    kernels: Any


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
            "functions": self.step.read(_Compiled).kernels,
        }


_VERSION = "if [ -x /usr/bin/g++ ]; then /usr/bin/g++ -dumpfullversion; fi"


@rule(desc="Find the host compiler", level=LogLevel.DEBUG)
async def find_host_compiler(_: HostCompilerRequest) -> HostCompiler:
    result = await Get(
        ProcessResult,
        Process,
        hermetic_process(
            ["/bin/sh", "-c", _VERSION],
            "Ask the host compiler for its version",
            scope=ProcessCacheScope.PER_RESTART_SUCCESSFUL,
        ),
    )
    return HostCompiler(result.stdout.decode().strip())


@rule(desc="Compile code")
async def compile_code(request: CompileRequest) -> CompiledCode:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(request.kind))
    fields = found.of(CompileCode)
    include_dirs = tuple(thaw(fields.include_dirs.value))
    code, host = await MultiGet(
        Get(Code, CodeRequest(fields.sources, include_dirs)),
        Get(HostCompiler, HostCompilerRequest()),
    )
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            fields.action,
            address=fields.address,
            environment=fields.tools,
            inputs=code.inputs,
            parameters=fields.parameters(host),
        ),
    )
    entries = tuple(file for file in result.files.entries if file.path != RESULT)
    return CompiledCode(fields.address, await Get(Files, ComposeFiles(entries)), result)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *CompileKernels.rules(),
        *CompileExtension.rules(),
        *CompileOperators.rules(),
        *includes.rules(),
        *action.rules(),
    )
