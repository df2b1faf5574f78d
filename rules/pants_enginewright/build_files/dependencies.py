"""What the fields of a target name becomes its dependency, so that changes select it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Tuple

from pants.engine.addresses import Addresses, UnparsedAddressInputs
from pants.engine.internals.graph import Owners, OwnersRequest
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import (
    FieldSet,
    InferDependenciesRequest,
    InferredDependencies,
    Target,
    WrappedTarget,
    WrappedTargetRequest,
)
from pants.engine.unions import UnionRule

from pants_enginewright.build_files.base import EnginewrightDependenciesField
from pants_enginewright.build_files.fields import AddressField, AddressListField
from pants_enginewright.build_files.plugin_files import plugin_files
from pants_enginewright.engines.targets import OnnxruntimeEngineTarget, TensorrtRtxEngineTarget
from pants_enginewright.environments.targets import ToolchainTarget
from pants_enginewright.environments.toolchain import Toolchain, ToolchainRequest
from pants_enginewright.kernels.targets import CudaExtensionTarget, CudaKernelsTarget
from pants_enginewright.models.targets import (
    ExporterField,
    ModelCheckpointTarget,
    OnnxModelTarget,
    PluginsField,
    QuantizedModelTarget,
    TaskField,
)
from pants_enginewright.models.tasks import TASKS, modules
from pants_enginewright.steps.library import module_path
from pants_enginewright.subsystems import EnginewrightSubsystem
from pants_enginewright.validation.targets import EngineTestTarget


@dataclass(frozen=True)
class EnginewrightDependenciesFieldSet(FieldSet):
    required_fields = (EnginewrightDependenciesField,)


class InferEnginewrightDependencies(InferDependenciesRequest[EnginewrightDependenciesFieldSet]):
    infer_from = EnginewrightDependenciesFieldSet


# Steps of each target, and kinds of tool environment that they run in.
STEPS: Dict[str, Tuple[Tuple[str, ...], Tuple[str, ...]]] = {
    ModelCheckpointTarget.alias: (("verify_checkpoint", "extract_files"), ()),
    TensorrtRtxEngineTarget.alias: (
        ("check_graph", "check_weights", "estimate_size", "build_engine", "write_manifest"),
        ("onnx",),
    ),
    QuantizedModelTarget.alias: (("quantize_model",), ("onnx",)),
    CudaExtensionTarget.alias: (("compile_extension",), ("extension",)),
    CudaKernelsTarget.alias: (("compile_kernels",), ("cuda",)),
    OnnxruntimeEngineTarget.alias: (
        (
            "check_graph",
            "check_weights",
            "estimate_size",
            "build_onnxruntime_engine",
            "write_onnxruntime_manifest",
        ),
        ("onnx", "run"),
    ),
    EngineTestTarget.alias: (
        ("check_engine", "measure_accuracy", "judge_accuracy", "compare_builds"),
        ("validate",),
    ),
}


def steps_of(target: Target) -> Tuple[Tuple[str, ...], Tuple[str, ...]]:
    if isinstance(target, OnnxModelTarget):
        replacing = ("replace_subgraphs",) if target[PluginsField].value else ()
        if target[ExporterField].value == "direct":
            return ("export_direct", "convert_weights", *replacing), ("onnx",)
        return ("export_onnx", *replacing), ("export", *(("onnx",) if replacing else ()))
    return STEPS.get(target.alias, ((), ()))


def modules_of(target: Target) -> Tuple[str, ...]:
    """Modules that the target's steps import by the name of a task."""
    if isinstance(target, OnnxModelTarget):
        task = TASKS.get(target[TaskField].value)
        traced = task is not None and target[ExporterField].value != "direct"
        return (task.module("torch_module"),) if task is not None and traced else ()
    # The task of an engine is not known before its model is.
    return modules("measure") if isinstance(target, EngineTestTarget) else ()


def specs_of(target: Target) -> List[str]:
    """Addresses that the target's fields name, as written."""
    specs: List[str] = []
    for field in target.field_values.values():
        if isinstance(field, AddressField) and isinstance(field.value, str):
            specs.append(field.value)
        elif isinstance(field, AddressListField) and isinstance(field.value, tuple):
            specs.extend(item for item in field.value if isinstance(item, str))
    return specs


@rule(desc="Infer dependencies of a model engine")
async def infer_enginewright_dependencies(
    request: InferEnginewrightDependencies, subsystem: EnginewrightSubsystem
) -> InferredDependencies:
    address = request.field_set.address
    wrapped = await Get(WrappedTarget, WrappedTargetRequest(address, "dependency inference"))
    target = wrapped.target
    actions, kinds = steps_of(target)
    environments = [subsystem.environments[k] for k in kinds if k in subsystem.environments]
    if isinstance(target, ToolchainTarget):
        toolchain = await Get(Toolchain, ToolchainRequest(address.spec, "inference"))
        environments.append(toolchain.parsed()["environment"])
    root = subsystem.library_root
    imported = [*(f"enginewright.actions.{name}" for name in actions), *modules_of(target)]
    paths = [module_path(root, name) for name in imported] if root else []
    paths.extend(plugin_files(target.alias))
    named, tools, code = await MultiGet(
        Get(
            Addresses,
            UnparsedAddressInputs(
                specs_of(target),
                owning_address=address,
                description_of_origin=f"the fields of {address}",
            ),
        ),
        Get(
            Addresses,
            UnparsedAddressInputs(
                environments,
                owning_address=None,
                description_of_origin="`[enginewright].environments`",
            ),
        ),
        Get(Owners, OwnersRequest(tuple(paths))),
    )
    return InferredDependencies([*named, *tools, *code])


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        UnionRule(InferDependenciesRequest, InferEnginewrightDependencies),
    )
