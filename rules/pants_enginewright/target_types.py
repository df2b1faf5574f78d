"""The BUILD vocabulary. Nothing here awaits; the help texts are the manual."""

from __future__ import annotations

import re
from typing import Any, Iterator, Tuple

from pants.core.goals.package import OutputPathField
from pants.core.goals.test import TestTimeoutField
from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    Dependencies,
    SingleSourceField,
    Target,
)

from pants_enginewright.compat import EnvironmentField
from pants_enginewright.fields import (
    AddressField,
    AddressListField,
    CheckedField,
    ChoiceField,
    FlagField,
    ListField,
    NumberField,
    TextField,
    thaw,
)
from pants_enginewright.owned_files import OwnedFilesField

PLUGINS = ("add_rms_norm", "rms_norm", "rotary", "swiglu")
COMPUTE_CAPABILITY = re.compile(r"[1-9]\d*\.\d[a-z]?")


class EnginewrightDependenciesField(Dependencies):
    """Explicit dependencies; what the other fields name is added by inference."""


_COMMON = (*COMMON_TARGET_FIELDS, EnginewrightDependenciesField, EnvironmentField)


# --- tool_environment ---------------------------------------------------------------------------


class RequirementsField(ListField):
    alias = "requirements"
    required = True
    help = "Requirements of the environment, as in a requirements file."


class LockField(SingleSourceField):
    alias = "lock"
    required = False
    default = None
    expected_file_extensions = (".txt",)
    uses_source_roots = False
    help = (
        "The lock: a requirements file with a hash for each artifact, written by "
        "`./pants generate-lockfiles --resolve=NAME`. Default: the target's name plus `.txt`."
    )

    @classmethod
    def compute_value(cls, raw_value: Any, address: Any) -> Any:
        return super().compute_value(raw_value or f"{address.target_name}.txt", address)


class PythonVersionField(ChoiceField):
    alias = "python"
    choices = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
    default = "3.11"
    help = "Version of CPython, `major.minor`, that the environment is locked for and runs on."


class WithDependenciesField(FlagField):
    alias = "with_dependencies"
    default = True
    help = "Whether the lock holds what the requirements depend on, too."


class ToolEnvironmentTarget(Target):
    alias = "tool_environment"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        EnginewrightDependenciesField,
        RequirementsField,
        LockField,
        PythonVersionField,
        WithDependenciesField,
    )
    help = "Python packages that steps run with, from a lock that pins the hash of each artifact."


# --- toolchain ----------------------------------------------------------------------------------


class ToolchainSourceField(SingleSourceField):
    expected_file_extensions = (".toml",)
    uses_source_roots = False
    help = (
        "TOML file with `product`, `version` (all four fields), `cuda`, `environment` (address of "
        "the `tool_environment` that holds the builder), `minimum_driver`, `compute_capabilities`, "
        "`[onnx]` limits, and `[libraries]`: sha256 of each shared library that the builder loads."
    )


class ToolchainRequestField(OwnedFilesField, TextField):
    alias = "request"
    default = None
    expected = "the name of a TOML file"
    help = (
        "TOML file with what is wanted: `product`, `cuda`, `environment`, `compute_capabilities`. "
        "`./pants lock-toolchain` resolves it into the target's source."
    )


class ToolchainTarget(Target):
    alias = "toolchain"
    core_fields = (
        *COMMON_TARGET_FIELDS,
        EnginewrightDependenciesField,
        ToolchainSourceField,
        ToolchainRequestField,
    )
    help = "A locked inference toolchain. The builder verifies what it loaded against it."


# --- model_checkpoint ---------------------------------------------------------------------------


class ConfigField(OwnedFilesField, TextField):
    alias = "config"
    default = "config.json"
    expected = "the name of a JSON file"
    help = "The model's configuration."


class WeightsField(OwnedFilesField, ListField):
    alias = "weights"
    default = ("model.safetensors",)
    expected = "a list of names of .safetensors files (and, for shards, their .index.json)"
    help = "The weights: safetensors files, and their index where there are several shards."


class TokenizerField(OwnedFilesField, ListField):
    alias = "tokenizer"
    default = ()
    expected = "a list of names of files"
    help = "Files of the tokenizer, and others that serving needs, such as generation_config.json."


class DistributionField(AddressField):
    alias = "distribution"
    default = None
    help = (
        "Take the files out of the locked Python distribution in this `tool_environment`, instead "
        "of from the BUILD file's folder. File names are then relative to `distribution_path`."
    )


class DistributionPathField(TextField):
    alias = "distribution_path"
    default = None
    expected = "a folder inside the distribution, relative to its top"
    help = "Folder inside the distribution that holds the files."


class FilesField(AddressListField):
    alias = "files"
    default = ()
    help = (
        "Targets such as `file(source=http_source(url, len=..., sha256=...))` that files of this "
        "checkpoint come from, by name."
    )


class ModelCheckpointTarget(Target):
    alias = "model_checkpoint"
    core_fields = (
        *_COMMON,
        ConfigField,
        WeightsField,
        TokenizerField,
        DistributionField,
        DistributionPathField,
        FilesField,
    )
    help = "A model's configuration, weights and tokenizer, verified against each other."


# --- onnx_model ---------------------------------------------------------------------------------


class CheckpointField(AddressField):
    alias = "checkpoint"
    required = True
    expected = "the address of a `model_checkpoint` target"
    help = "The `model_checkpoint` to export."


class TaskField(ChoiceField):
    alias = "task"
    required = True
    choices = ("text-generation", "text-generation-with-past", "feature-extraction")
    help = (
        "What the graph computes. `text-generation`: input_ids to logits. "
        "`text-generation-with-past`: the same with a KV cache; exporter `direct`. "
        "`feature-extraction`: input_ids and attention_mask to embeddings."
    )


class DtypeField(ChoiceField):
    alias = "dtype"
    default = "float16"
    choices = ("float32", "float16", "bfloat16")
    help = "Type of the weights and of the arithmetic."


class OpsetField(NumberField):
    alias = "opset"
    default = 23
    least = 18
    most = 25
    help = "Version of the ONNX operator set."


class DynamicAxesField(ListField):
    alias = "dynamic_axes"
    default = ("batch", "sequence")
    help = "Names of the axes that stay dynamic."


class ExporterField(ChoiceField):
    alias = "exporter"
    default = "torch"
    choices = ("torch", "direct")
    help = (
        "`torch` traces the model; `direct` writes the graph of a known architecture from its "
        "configuration, in a second whatever the size."
    )


class LogitsField(ChoiceField):
    alias = "logits"
    default = "all"
    choices = ("all", "last")
    help = "Logits of all positions, or only of the last one."


class PluginsField(ListField):
    alias = "plugins"
    default = ()
    expected = "a list of " + ", ".join(map(repr, PLUGINS))
    help = (
        "Operators of our own that replace matching subgraphs, found by structure. A product that "
        "loads no plugins takes their meaning instead, which comes with them; engine.json says so."
    )

    @staticmethod
    def accepts(item: str) -> bool:
        return item in PLUGINS


class OnnxModelTarget(Target):
    alias = "onnx_model"
    core_fields = (
        *_COMMON,
        CheckpointField,
        TaskField,
        DtypeField,
        OpsetField,
        DynamicAxesField,
        ExporterField,
        LogitsField,
        PluginsField,
        OutputPathField,
    )
    help = "A checkpoint exported to ONNX, with its graph checked."


# --- quantized_model ----------------------------------------------------------------------------


class QuantizedModelSourceField(AddressField):
    alias = "model"
    required = True
    expected = "the address of an `onnx_model` target"
    help = "The `onnx_model` whose weights become integers."


class MethodField(ChoiceField):
    alias = "method"
    required = True
    choices = ("int8", "int4")
    help = (
        "`int8`: one scale for each output channel. `int4`: one scale for each group of inputs of "
        "an output channel. Activations stay as they are; no calibration data is needed."
    )


class GroupSizeField(ChoiceField):
    alias = "group_size"
    default = None
    choices = (32, 64, 128)
    help = "Method `int4`, where it is required: how many inputs of a channel share a scale."


class KeepField(ListField):
    alias = "keep"
    default = ("*embed_tokens*", "*lm_head*")
    expected = "a list of patterns of names, with `*` and `?`"
    help = "Weights that stay as they are; the output head always does."


class QuantizedModelTarget(Target):
    alias = "quantized_model"
    core_fields = (
        *_COMMON,
        QuantizedModelSourceField,
        MethodField,
        GroupSizeField,
        KeepField,
        OutputPathField,
    )
    help = (
        "An `onnx_model` with integer weights, usable wherever a model is expected. `package` "
        "writes the graph, its data and report.json: bytes before and after, and the error of each "
        "tensor. What it costs in perplexity, an `engine_test` of an engine of it measures."
    )


# --- tensorrt_rtx_engine ------------------------------------------------------------------------


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
            for axis, sizes in profile.items():
                where = f"field `{self.alias}`, profile {number}, axis {axis!r}"
                is_triple = isinstance(sizes, tuple) and len(sizes) == 3
                if not is_triple or not all(type(size) is int and size >= 0 for size in sizes):
                    yield f"{where} has value {thaw(sizes)!r}; expected (min, opt, max)"
                elif not sizes[0] <= sizes[1] <= sizes[2]:
                    yield f"{where} has value {thaw(sizes)!r}; expected min <= opt <= max"
                elif sizes[1] == 0:
                    yield f"{where} has value {thaw(sizes)!r}; expected opt and max of at least 1"


class ComputeCapabilitiesField(ListField):
    alias = "compute_capabilities"
    required = True
    expected = "a list of compute capabilities such as '8.6'; the toolchain says which it supports"
    help = "GPUs that the engine is built for."

    @staticmethod
    def accepts(item: str) -> bool:
        return COMPUTE_CAPABILITY.fullmatch(item) is not None


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
        "Kernels that run before or after the plan, such as pooling and sampling. They ship in "
        "kernels/NAME/; the plan does not depend on them."
    )


class TensorrtRtxEngineTarget(Target):
    alias = "tensorrt_rtx_engine"
    core_fields = (
        *_COMMON,
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


# --- onnxruntime_engine -------------------------------------------------------------------------


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
        *_COMMON,
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


# --- text_dataset and engine_test ---------------------------------------------------------------


class DatasetSourceField(SingleSourceField):
    expected_file_extensions = (".txt",)
    uses_source_roots = False
    help = "UTF-8 text. For feature extraction: one sentence a line."


class TextDatasetTarget(Target):
    alias = "text_dataset"
    core_fields = (*COMMON_TARGET_FIELDS, EnginewrightDependenciesField, DatasetSourceField)
    help = "Text to validate with, that the model was not trained on."


class EngineField(AddressField):
    alias = "engine"
    required = True
    expected = "the address of an engine target"
    help = "The engine to test."


class ReferenceField(AddressField):
    alias = "reference"
    default = None
    expected = "the address of a `model_checkpoint` target"
    help = "The checkpoint that PyTorch runs, in float32, as the truth to compare with."


class DatasetField(AddressField):
    alias = "dataset"
    default = None
    expected = "the address of a `text_dataset` target"
    help = "Held-out text for the comparison."


class BoundField(NumberField):
    """A threshold; `None` leaves the number unjudged."""

    fractional = True
    default = None


class MinCosineField(BoundField):
    alias = "min_cosine_similarity"
    most = 1
    help = "Least mean cosine similarity with the reference."


class MinWorstCosineField(BoundField):
    alias = "min_worst_cosine_similarity"
    most = 1
    help = "Least cosine similarity of any single token or sentence."


class MaxAbsoluteErrorField(BoundField):
    alias = "max_absolute_error"
    help = "Greatest absolute difference of any output value."


class MinTop1Field(BoundField):
    alias = "min_top1_agreement"
    most = 1
    help = "Least fraction of tokens for which both predict the same next one."


class MaxPerplexityIncreaseField(BoundField):
    alias = "max_perplexity_increase"
    help = "Greatest increase of perplexity over the reference, as a fraction: 0.01 is one percent."


class ReproducibleField(FlagField):
    alias = "reproducible"
    default = False
    help = "Build the plan a second time and compare the bytes."


class EngineTestTimeoutField(TestTimeoutField):
    """Seconds that the comparison may take."""


BOUNDS: Tuple[type[BoundField], ...] = (
    MinCosineField,
    MinWorstCosineField,
    MaxAbsoluteErrorField,
    MinTop1Field,
    MaxPerplexityIncreaseField,
)


class EngineTestTarget(Target):
    alias = "engine_test"
    core_fields = (
        *_COMMON,
        EngineField,
        ReferenceField,
        DatasetField,
        *BOUNDS,
        ReproducibleField,
        EngineTestTimeoutField,
    )
    help = (
        "Validates an engine: manifest and plan, the graph against PyTorch on real text, and on "
        "request that building again gives the same bytes."
    )
