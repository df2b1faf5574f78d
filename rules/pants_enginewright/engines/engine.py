"""Engines of all products, and how one for TensorRT for RTX is built and described."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import Target
from pants.util.frozendict import FrozenDict

from pants_enginewright import canonical_json
from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.compute_capabilities import ComputeCapabilitiesField
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Steps
from pants_enginewright.engines.engine_limits import raise_if_too_long, raise_if_unsupported
from pants_enginewright.engines.product import BuildEngine
from pants_enginewright.engines.size_estimate import EstimateSize, SizeEstimate
from pants_enginewright.engines.targets import (
    KernelsField,
    MaxAuxStreamsField,
    ModelField,
    OptimizationLevelField,
    ProfilesField,
    ProviderField,
    TilingLevelField,
    ToolchainField,
    WeightStreamingField,
    WorkspaceField,
)
from pants_enginewright.environments.tool_environment import ToolEnvironment
from pants_enginewright.environments.toolchain import Toolchain, ToolchainRequest
from pants_enginewright.kernels.compilation import (
    CompiledCode,
    CompileKernels,
    CompileRequest,
)
from pants_enginewright.models.model_check import plan_graph_check, plan_weights_check
from pants_enginewright.models.onnx_model import OnnxModel, OnnxModelRequest
from pants_enginewright.steps.action import (
    ActionInput,
    ActionRequest,
    ActionResult,
    Tools,
    ToolsRequest,
)
from pants_enginewright.steps.files import ComposeFiles, File, Files

PLAN = "engine.plan"
CHECKS = Steps.of("check_graph", "check_weights", "estimate_size", environments=("onnx",))


@dataclass(frozen=True)
class TensorrtRtxKind(BuildEngine):
    """A `tensorrt_rtx_engine` target."""

    required_fields = (ModelField, ToolchainField, WeightStreamingField)

    @property
    def steps(self) -> Steps:
        return CHECKS + Steps.of_product("tensorrt_rtx")


@dataclass(frozen=True)
class OnnxruntimeKind(BuildEngine):
    """An `onnxruntime_engine` target."""

    required_fields = (ModelField, ProviderField)

    @property
    def steps(self) -> Steps:
        return CHECKS + Steps.of_product("onnxruntime", environments=("run",))


@dataclass(frozen=True)
class EngineRequest(NamedTarget):
    """Asks for the engine of a target of any product."""


@dataclass(frozen=True)
class Candidate:
    """What a test measures on a host without a device."""

    inputs: Tuple[ActionInput, ...]
    """`package`, where the engine itself runs there; else `model` and `serving`, which compute
    what the engine computes."""
    limits: FrozenDict[str, int] = field(default_factory=FrozenDict)
    """Greatest `batch`, `sequence` and `total_sequence` that the engine takes, where the inputs do
    not say it."""


@dataclass(frozen=True)
class Engine:
    address: Address
    model: OnnxModel
    candidate: Candidate
    package: Files
    """Everything that belongs into dist/."""
    build: ActionRequest
    """The step that built it, to run it again."""
    built: Tuple[str, ...]
    """Files of the package that this step put out."""
    estimate: SizeEstimate
    steps: Tuple[ActionResult, ...]

    @property
    def is_plan(self) -> bool:
        return self.built == (PLAN,)

    def built_files(self) -> Tuple[File, ...]:
        return tuple(file for file in self.package.entries if file.path in self.built)


@dataclass(frozen=True)
class BuildTensorrtRtxEngine:
    target: Target


@dataclass(frozen=True)
class TensorrtRtxEngine:
    engine: Engine


@dataclass(frozen=True)
class BuildOnnxruntimeEngine:
    target: Target


@dataclass(frozen=True)
class OnnxruntimeEngine:
    engine: Engine


@dataclass(frozen=True)
class PackageEngine:
    address: Address
    model: OnnxModel
    toolchain: Toolchain
    built: ActionResult
    estimate: SizeEstimate
    kernels: Tuple[CompiledCode, ...]


@dataclass(frozen=True)
class PackagedEngine:
    files: Files
    step: ActionResult


def plan_build(target: Target, model: OnnxModel, toolchain: Toolchain) -> ActionRequest:
    """The step that builds the plan."""
    workspace = target[WorkspaceField].value
    return ActionRequest.create(
        "build_engine",
        module="enginewright.products.tensorrt_rtx.build",
        address=target.address,
        tool_environment=toolchain.parsed()["environment"],
        inputs=[*model.inputs, ActionInput.of("record", model.record)],
        parameters={
            "toolchain": toolchain.builder(),
            "profiles": thaw(target[ProfilesField].value),
            "compute_capabilities": target[ComputeCapabilitiesField].in_order(),
            "optimization_level": target[OptimizationLevelField].value,
            "tiling_optimization_level": target[TilingLevelField].value,
            "weight_streaming": target[WeightStreamingField].value,
            "memory_pool_limits": {} if workspace is None else {"workspace": workspace},
            "max_aux_streams": target[MaxAuxStreamsField].value,
        },
    )


@rule
async def find_engine(request: EngineRequest) -> Engine:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(BuildEngine))
    target = found.target
    if isinstance(found.kind, OnnxruntimeKind):
        portable = await Get(OnnxruntimeEngine, BuildOnnxruntimeEngine(target))
        return portable.engine
    planned = await Get(TensorrtRtxEngine, BuildTensorrtRtxEngine(target))
    return planned.engine


@rule(desc="Build an engine")
async def build_tensorrt_rtx_engine(request: BuildTensorrtRtxEngine) -> TensorrtRtxEngine:
    target = request.target
    address = target.address
    toolchain = await Get(
        Toolchain, ToolchainRequest, ToolchainRequest.by_field(target[ToolchainField])
    )
    raise_if_unsupported(target, toolchain)
    model = await Get(OnnxModel, OnnxModelRequest, OnnxModelRequest.by_field(target[ModelField]))
    raise_if_too_long(target, model.checkpoint.summary()["length"])
    profiles = canonical_json.dumps(thaw(target[ProfilesField].value))
    graph_check = await Get(
        ActionResult, ActionRequest, plan_graph_check(model, toolchain.reader())
    )
    build = plan_build(target, model, toolchain)
    weights_check, built, estimate = await MultiGet(
        Get(ActionResult, ActionRequest, plan_weights_check(model)),
        Get(ActionResult, ActionRequest, build),
        Get(SizeEstimate, EstimateSize(address, model, profiles)),
    )
    origin = f"field `kernels` of {address}"
    kernels = await MultiGet(
        Get(CompiledCode, CompileRequest(spec, origin, address, kind=CompileKernels))
        for spec in thaw(target[KernelsField].value)
    )
    packaged = await Get(
        PackagedEngine, PackageEngine(address, model, toolchain, built, estimate, kernels)
    )
    steps = (
        *(graph_check, weights_check, *estimate.steps, built),
        *(kernel.step for kernel in kernels),
        packaged.step,
    )
    return TensorrtRtxEngine(
        Engine(
            address,
            model,
            Candidate(
                (*model.inputs, ActionInput.of("serving", model.checkpoint.tokenizer)),
                limits_of(thaw(target[ProfilesField].value)),
            ),
            packaged.files,
            build,
            (PLAN,),
            estimate,
            (*model.steps, *steps),
        )
    )


def limits_of(profiles: Iterable[Mapping[str, Any]]) -> FrozenDict[str, int]:
    """The greatest size of each axis over all profiles."""
    greatest: Dict[str, int] = {}
    for profile in profiles:
        for axis in ("batch", "sequence", "total_sequence"):
            if axis in profile:
                greatest[axis] = max(greatest.get(axis, 0), profile[axis][-1])
    return FrozenDict(greatest)


def plan_inputs(
    model: OnnxModel,
    exporter: ToolEnvironment,
    builder: ToolEnvironment,
    others: Iterable[Tuple[str, Optional[Address], File]] = (),
) -> List[Dict[str, Any]]:
    """Provenance: every input of the build by role and address, with its content."""
    checkpoint = model.checkpoint
    rows = [
        *((role, checkpoint.address, file) for role, file in checkpoint.sources()),
        *(("onnx", model.address, f) for f in model.graph.entries),
        *(("onnx", model.address, f) for f in model.data.entries),
        *others,
        *(("exporter", exporter.address, wheel) for wheel in exporter.wheels.entries),
        *(("builder", builder.address, wheel) for wheel in builder.wheels.entries),
    ]
    return [
        {"role": role, "address": str(address), "path": file.path, **file.described()}
        for role, address, file in rows
    ]


@rule(desc="Describe an engine package")
async def package_engine_files(request: PackageEngine) -> PackagedEngine:
    exporter, builder = await MultiGet(
        Get(Tools, ToolsRequest(request.model.environment, None)),
        Get(Tools, ToolsRequest(None, request.toolchain.parsed()["environment"])),
    )
    outputs = request.built.files.by_path()
    shipped = {PLAN: outputs[PLAN]}
    shipped.update((f.name, f) for f in request.model.checkpoint.tokenizer.entries)
    for kernel in request.kernels:
        shipped.update((kernel.shipped_path(file), file) for file in kernel.files.entries)
    build_result = await Get(Files, ComposeFiles((outputs["result.json"],)))
    written = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "write_manifest",
            module="enginewright.products.tensorrt_rtx.describe",
            address=request.address,
            inputs=[ActionInput.of("build", build_result)],
            parameters={
                "name": request.address.target_name,
                "task": request.model.task,
                "files": {name: file.described() for name, file in shipped.items()},
                "inputs": plan_inputs(
                    request.model,
                    exporter.environment,
                    builder.environment,
                    [("toolchain", request.toolchain.address, request.toolchain.source)],
                ),
                "toolchain": request.toolchain.described(),
                "plugins": request.model.plugins(),
                "kernels": [kernel.described() for kernel in request.kernels],
                "size_estimate": request.estimate.parsed(),
            },
        ),
    )
    own = {name: written.files.by_path()[name] for name in ("engine.json", "README.md")}
    entries = tuple(file.at(name) for name, file in {**shipped, **own}.items())
    return PackagedEngine(await Get(Files, ComposeFiles(entries)), written)


def rules() -> Iterable[Any]:
    return (*collect_rules(), *TensorrtRtxKind.rules(), *OnnxruntimeKind.rules())
