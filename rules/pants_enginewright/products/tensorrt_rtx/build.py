"""`tensorrt_rtx_engine`: a plan for TensorRT for RTX, built ahead of time and without a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable

from pants.engine.rules import Get, MultiGet, collect_rules, rule

from pants_enginewright import canonical_json
from pants_enginewright.build_files.compute_capabilities import ComputeCapabilitiesField
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Steps
from pants_enginewright.engines import engine, model_build
from pants_enginewright.engines.engine_limits import raise_if_too_long, raise_if_unsupported
from pants_enginewright.engines.model_build import BuildFromModel, ModelBuild
from pants_enginewright.engines.product import BuildEngine, BuiltEngine, Candidate
from pants_enginewright.engines.profiles import ProfilesField
from pants_enginewright.engines.targets import KernelsField, ModelField, ToolchainField
from pants_enginewright.environments import toolchain
from pants_enginewright.environments.toolchain import Toolchain, ToolchainRequest
from pants_enginewright.kernels import compilation
from pants_enginewright.kernels.compilation import CompiledCode, CompileKernels, CompileRequest
from pants_enginewright.models.model_source import ModelSource
from pants_enginewright.models.onnx_model import OnnxModel, OnnxModelRequest
from pants_enginewright.products.tensorrt_rtx.targets import (
    MaxAuxStreamsField,
    OptimizationLevelField,
    TilingLevelField,
    WeightStreamingField,
    WorkspaceField,
)
from pants_enginewright.steps.action import ActionRequest
from pants_enginewright.steps.files import ComposeFiles, Files

PLAN = "engine.plan"


@dataclass(frozen=True)
class BuildTensorrtRtxEngine(BuildEngine):
    """A `tensorrt_rtx_engine` target."""

    required_fields = (ModelField, ToolchainField, WeightStreamingField)
    product = "tensorrt_rtx"
    size_is_estimated = True

    model: ModelField
    toolchain: ToolchainField
    profiles: ProfilesField
    compute_capabilities: ComputeCapabilitiesField
    optimization_level: OptimizationLevelField
    tiling_level: TilingLevelField
    weight_streaming: WeightStreamingField
    workspace: WorkspaceField
    max_aux_streams: MaxAuxStreamsField
    kernels: KernelsField

    @property
    def steps(self) -> Steps:
        return model_build.STEPS + Steps.of_product(self.product)

    def plan(self, toolchain: Toolchain) -> ActionRequest:
        """The step that builds the plan."""
        workspace = self.workspace.value
        return ActionRequest.create(
            "build_engine",
            module="enginewright.products.tensorrt_rtx.build",
            address=self.address,
            tool_environment=toolchain.environment,
            parameters={
                "toolchain": toolchain.builder(),
                "profiles": thaw(self.profiles.value),
                "compute_capabilities": self.compute_capabilities.in_order(),
                "optimization_level": self.optimization_level.unless_default(),
                "tiling_optimization_level": self.tiling_level.unless_default(),
                "weight_streaming": self.weight_streaming.value,
                "memory_pool_limits": {} if workspace is None else {"workspace": workspace},
                "max_aux_streams": self.max_aux_streams.value,
            },
            fresh=self.fresh,
        )


@rule(desc="Build an engine for TensorRT for RTX")
async def build_tensorrt_rtx_engine(fields: BuildTensorrtRtxEngine) -> BuiltEngine:
    toolchain = await Get(Toolchain, ToolchainRequest, ToolchainRequest.by_field(fields.toolchain))
    raise_if_unsupported(fields.compute_capabilities, toolchain)
    named = OnnxModelRequest.by_field(fields.model, fields.fresh)
    model = await Get(OnnxModel, OnnxModelRequest, named)
    raise_if_too_long(fields.profiles, model.origin.length)
    profiles = canonical_json.dumps(thaw(fields.profiles.value))
    origin = f"field `{fields.kernels.alias}` of {fields.address}"
    built = await Get(
        ModelBuild,
        BuildFromModel(fields.address, named, fields.plan(toolchain), toolchain.reader(), profiles),
    )
    kernels = await MultiGet(
        Get(CompiledCode, CompileRequest(spec, origin, fields.address, kind=CompileKernels))
        for spec in thaw(fields.kernels.value)
    )
    plan = await Get(Files, ComposeFiles, ComposeFiles.named(built.result.files.entries, PLAN))
    return BuiltEngine(
        source=ModelSource.of_model(built.model),
        build=built.build,
        result=built.result,
        artifacts=plan,
        steps=(*built.steps, *(kernel.step for kernel in kernels)),
        candidate=Candidate(
            built.model.inputs,
            fields.profiles.greatest_sizes(),
            shapes=fields.profiles.shapes(),
        ),
        toolchain=toolchain,
        estimate=built.estimate,
        kernels=kernels,
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *BuildTensorrtRtxEngine.rules(),
        *engine.rules(),
        *model_build.rules(),
        *toolchain.rules(),
        *compilation.rules(),
    )
