"""BUILD vocabulary of TensorRT for RTX."""

from __future__ import annotations

from typing import Optional

from pants.engine.target import Target

from pants_enginewright.build_files.compute_capabilities import ComputeCapabilitiesField
from pants_enginewright.build_files.fields import ChoiceField, FlagField, NumberField
from pants_enginewright.engines.profiles import ProfilesField
from pants_enginewright.engines.targets import (
    ENGINE_FIELDS,
    KernelsField,
    ModelField,
    ToolchainField,
)


class OptimizationLevelField(NumberField):
    alias = "optimization_level"
    default = None
    most = 5
    help = (
        "How hard the builder searches: 0 is fastest to build, 5 slowest. Default: the "
        "product's, 3."
    )

    def unless_default(self) -> Optional[int]:
        """None where the builder would take this level by itself: then nothing is said to it."""
        return None if self.value == 3 else self.value


class TilingLevelField(ChoiceField):
    alias = "tiling_level"
    default = None
    choices = ("none", "fast", "moderate", "full")
    help = (
        "How hard the builder searches for tilings of the on-chip cache. Default: the product's, "
        "`none`."
    )

    def unless_default(self) -> Optional[str]:
        """None where the builder would take this level by itself: then nothing is said to it."""
        return None if self.value == "none" else self.value


class WeightStreamingField(FlagField):
    alias = "weight_streaming"
    default = False
    help = "Allow weights to stay in host memory and be streamed to the device."


class WorkspaceField(NumberField):
    alias = "workspace_bytes"
    default = None
    least = 1
    help = "Limit of the memory that a layer may use as scratch, in bytes."


class MaxAuxStreamsField(NumberField):
    alias = "max_aux_streams"
    default = None
    help = "Most auxiliary streams that the engine may use for layers that run in parallel."


class TensorrtRtxEngineTarget(Target):
    alias = "tensorrt_rtx_engine"
    core_fields = (
        *ENGINE_FIELDS,
        ModelField,
        ToolchainField,
        ProfilesField,
        ComputeCapabilitiesField,
        OptimizationLevelField,
        TilingLevelField,
        WeightStreamingField,
        WorkspaceField,
        MaxAuxStreamsField,
        KernelsField,
    )
    help = (
        "An engine for TensorRT for RTX, built ahead of time: no GPU is needed, and the bytes are "
        "the same on every host. `package` writes dist/PATH/NAME/ with engine.plan, engine.json, "
        "the tokenizer and a README."
    )
