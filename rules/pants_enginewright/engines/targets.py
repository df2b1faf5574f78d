"""tensorrt_rtx_engine, onnxruntime_engine: what is deployed."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from pants.core.goals.package import OutputPathField
from pants.engine.target import (
    Target,
)

from pants_enginewright.build_files.base import COMMON_FIELDS
from pants_enginewright.build_files.compute_capabilities import ComputeCapabilitiesField
from pants_enginewright.build_files.fields import (
    AddressField,
    AddressListField,
    CheckedField,
    ChoiceField,
    FlagField,
    NumberField,
    thaw,
)


class ModelField(AddressField):
    alias = "model"
    required = True
    expected = "the address of an `onnx_model` or `quantized_model` target"
    help = "The model to build: an `onnx_model` or a `quantized_model`."


class ToolchainField(AddressField):
    alias = "toolchain"
    required = True
    expected = "the address of a `toolchain` target"
    help = "The `toolchain` to build with."


def is_range(sizes: Any) -> bool:
    """Three sizes, in whatever order."""
    if not isinstance(sizes, tuple) or len(sizes) != 3:
        return False
    return all(type(size) is int and size >= 0 for size in sizes)


def length_problems(profile: Mapping[str, Any]) -> Iterator[str]:
    """A decoder with a cache always has total_sequence = past_sequence + sequence."""
    names = ("sequence", "past_sequence", "total_sequence")
    if not all(is_range(profile.get(name)) for name in names):
        return
    sequence, past, total = (profile[name] for name in names)
    if sequence[2] > total[2]:
        yield (
            f"axis 'sequence' reaches {sequence[2]}; expected at most {total[2]}, the maximum of "
            f"'total_sequence', which counts 'past_sequence' and 'sequence' together"
        )
    if past[2] + sequence[0] > total[2]:
        yield (
            f"axis 'past_sequence' reaches {past[2]}; expected at most {total[2] - sequence[0]}: "
            f"with the minimum of 'sequence', {sequence[0]}, it must fit into the maximum of "
            f"'total_sequence', {total[2]}"
        )
    if total[0] > past[0] + sequence[0]:
        yield (
            f"axis 'total_sequence' begins at {total[0]}; expected at most {past[0] + sequence[0]},"
            f" the minima of 'past_sequence' and 'sequence' together"
        )


class ProfilesField(CheckedField):
    alias = "profiles"
    default = ()
    expected = "a list of profiles such as {'batch': (1, 1, 8), 'sequence': (1, 128, 1024)}"
    help = "Optimization profiles: minimum, optimum and maximum of each named dynamic axis."

    def is_valid(self) -> bool:
        return isinstance(self.value, tuple) and all(hasattr(item, "items") for item in self.value)

    def problems(self) -> Iterator[str]:
        yield from super().problems()
        if not self.is_valid():
            return
        for number, profile in enumerate(self.value):
            where = f"field `{self.alias}`, profile {number}"
            yield from (f"{where}, {problem}" for problem in length_problems(profile))
            for axis, sizes in profile.items():
                found = f"{where}, axis {axis!r} has value {thaw(sizes)!r}"
                if not is_range(sizes):
                    yield f"{found}; expected (min, opt, max)"
                elif not sizes[0] <= sizes[1] <= sizes[2]:
                    yield f"{found}; expected min <= opt <= max"
                elif sizes[1] == 0:
                    yield f"{found}; expected opt and max of at least 1"


class OptimizationLevelField(NumberField):
    alias = "optimization_level"
    default = None
    most = 5
    help = (
        "How hard the builder searches: 0 is fastest to build, 5 slowest. Default: the product's."
    )


class TilingLevelField(ChoiceField):
    alias = "tiling_level"
    default = None
    choices = ("none", "fast", "moderate", "full")
    help = "How hard the builder searches for tilings of the on-chip cache."


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


class KernelsField(AddressListField):
    alias = "kernels"
    default = ()
    expected = "a list of addresses of `cuda_kernels` targets"
    help = (
        "Kernels that a server of your own launches before or after the plan, such as sampling. "
        "They ship in kernels/NAME/; the plan does not depend on them, and `./pants run` launches "
        "none of them."
    )


class TensorrtRtxEngineTarget(Target):
    alias = "tensorrt_rtx_engine"
    core_fields = (
        *COMMON_FIELDS,
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
        OutputPathField,
    )
    help = (
        "An engine for TensorRT for RTX, built ahead of time: no GPU is needed, and the bytes are "
        "the same on every host. `package` writes dist/PATH/NAME/ with engine.plan, engine.json, "
        "the tokenizer and a README."
    )


class ProviderField(ChoiceField):
    alias = "provider"
    default = "cpu"
    choices = ("cpu",)
    help = "Execution provider of ONNX Runtime that the model is optimized for."


class GraphOptimizationField(ChoiceField):
    alias = "optimization_level"
    default = "extended"
    choices = ("disabled", "basic", "extended", "all")
    help = (
        "How far ONNX Runtime rewrites the graph. `all` adds layouts of the building host's "
        "processor, so that its bytes differ from host to host."
    )


class QuantizedMatmulField(ChoiceField):
    alias = "quantized_matmul"
    default = "float32"
    choices = ("float32", "int8")
    help = (
        "In what products with 4-bit weights are computed. `int8` rounds activations too: faster, "
        "and up to a percent away from the graph's meaning."
    )


class OnnxruntimeEngineTarget(Target):
    alias = "onnxruntime_engine"
    core_fields = (
        *COMMON_FIELDS,
        ModelField,
        ProviderField,
        GraphOptimizationField,
        QuantizedMatmulField,
        OutputPathField,
    )
    help = (
        "A model optimized for ONNX Runtime, which runs on any processor. `package` writes "
        "dist/PATH/NAME/ with model.onnx, its data, engine.json, the tokenizer and a README. "
        '`./pants run TARGET -- --prompt "..."` generates text with it, and `-- --lines FILE` '
        "embeds the lines of a file; `-- --help` lists all options."
    )
