"""BUILD vocabulary of ONNX Runtime."""

from __future__ import annotations

from pants.engine.target import Target

from pants_enginewright.build_files.fields import ChoiceField
from pants_enginewright.engines.targets import ENGINE_FIELDS, ModelField, OperatorsField


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
        *ENGINE_FIELDS,
        ModelField,
        ProviderField,
        GraphOptimizationField,
        QuantizedMatmulField,
        OperatorsField,
    )
    help = (
        "A model optimized for ONNX Runtime, which runs on any processor. `package` writes "
        "dist/PATH/NAME/ with model.onnx, its data, engine.json, the tokenizer and a README. "
        '`./pants run TARGET -- --prompt "..."` generates text with it, and `-- --lines FILE` '
        "embeds the lines of a file; `-- --help` lists all options."
    )
