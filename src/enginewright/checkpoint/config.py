"""Reads `config.json` of a checkpoint: what the weights' shapes and the exported graph depend on.

Field names and defaults are those of the transformers library 5 (`configuration_*.py` of each
family); both its present spellings and the ones before version 5 are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.checkpoint.config_fields import Fields
from enginewright.errors import Problem, raise_if_any

DECODER_FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
ENCODER_FAMILIES = ("bert",)
ARCHITECTURES: Mapping[str, str] = {
    "LlamaForCausalLM": "llama",
    "LlamaModel": "llama",
    "MistralForCausalLM": "mistral",
    "MistralModel": "mistral",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen2Model": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3Model": "qwen3",
    "BertModel": "bert",
}
"""Architectures whose tensors are known, and the `model_type` that belongs to each."""

DTYPES = ("bfloat16", "float16", "float32", "float64")
DEFAULT_ROPE_THETA = 10000.0
MAX_LAYERS = 4096
"""Far above any model; a corrupt count must not make the check of the tensors endless."""


@dataclass(frozen=True)
class RopeSettings:
    """Rotary position embedding."""

    theta: float
    """Base wavelength."""
    rope_type: str = "default"
    """`default`, `linear`, `dynamic`, `yarn`, `longrope` or `llama3`, as in transformers."""
    factor: float | None = None
    original_max_position_embeddings: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Every field as the config has it, for the scalings that need more."""


@dataclass(frozen=True)
class DecoderConfig:
    """A causal language model of the Llama kind; sizes are counts of elements."""

    model_type: str
    architecture: str
    dtype: str | None
    """Of the stored weights, one of `DTYPES`; None when the config does not say."""
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    rms_norm_eps: float
    hidden_act: str
    tie_word_embeddings: bool
    attention_bias: bool
    """Whether q, k and v have biases; in the Llama and Qwen3 families o then has one too."""
    mlp_bias: bool
    sliding_window: int | None
    """Tokens; None when every layer attends to everything before it."""
    rope: RopeSettings
    quantized: bool = False

    @property
    def output_bias(self) -> bool:
        """Whether the output projection of the attention has a bias."""
        return self.attention_bias and self.model_type in ("llama", "qwen3")


@dataclass(frozen=True)
class EncoderConfig:
    """A BERT encoder; sizes are counts of elements."""

    model_type: str
    architecture: str
    dtype: str | None
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float
    hidden_act: str
    quantized: bool = False


@dataclass(frozen=True)
class OtherConfig:
    """An architecture that this library does not know: its tensors cannot be checked."""

    model_type: str
    architecture: str
    dtype: str | None
    quantized: bool = False


Config = DecoderConfig | EncoderConfig | OtherConfig


def read_config(path: Path) -> Config:
    """Read the `config.json` at `path`; raise `InputError` with all missing or wrong fields."""
    return parse_config(canonical_json.read_object(path), str(path))


def parse_config(document: Mapping[str, Any], where: str) -> Config:
    """Check the fields of a config; `where` names its file in messages.

    Raises `InputError` with all problems.
    """
    problems: list[Problem] = []
    fields = Fields(document, where, problems)
    model_type = _model_type(fields)
    architecture = _architecture(fields)
    family = ARCHITECTURES.get(architecture)
    if family is not None and model_type and family != model_type:
        problems.append(
            Problem(
                "the architecture does not belong to the model type",
                f"{where}, `architectures`",
                f"an architecture of `{model_type}`",
                f"`{architecture}`, which is one of `{family}`",
            )
        )
    common = _Common(
        model_type,
        architecture,
        _dtype(fields),
        isinstance(document.get("quantization_config"), Mapping),
    )
    known = DECODER_FAMILIES + ENCODER_FAMILIES
    config: Config = OtherConfig(model_type, architecture, common.dtype, common.quantized)
    # Without an architecture the fields of the family are still checked: all problems at once.
    if family is not None or (not architecture and model_type in known):
        is_encoder = (family or model_type) in ENCODER_FAMILIES
        config = _encoder(fields, common) if is_encoder else _decoder(fields, common)
    raise_if_any(problems)
    return config


@dataclass(frozen=True)
class _Common:
    model_type: str
    architecture: str
    dtype: str | None
    quantized: bool


def _model_type(fields: Fields) -> str:
    known = ", ".join(f"`{name}`" for name in sorted(DECODER_FAMILIES + ENCODER_FAMILIES))
    return fields.text(
        "model_type",
        missing="the config does not say which model family it is",
        expected=f"a name such as {known}",
        fix="take `config.json` from the checkpoint's own repository",
    )


def _architecture(fields: Fields) -> str:
    value = fields.document.get("architectures")
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return str(value[0])
    fields.problems.append(
        Problem(
            "the config does not say which architecture the weights belong to"
            if value is None
            else "the architectures are not a list of class names",
            fields.place("architectures"),
            'a list with one class name, such as ["Qwen3ForCausalLM"]',
            "no such field" if value is None else repr(value)[:100],
            "add the name of the transformers class that the weights were saved from",
        )
    )
    return ""


def _dtype(fields: Fields) -> str | None:
    """`dtype`, or `torch_dtype` as it was called before transformers 5."""
    found = {}
    for name in ("dtype", "torch_dtype"):
        value = fields.document.get(name)
        if value is None:
            continue
        if isinstance(value, str) and value.removeprefix("torch.") in DTYPES:
            found[name] = value.removeprefix("torch.")
        else:
            fields.wrong(name, " or ".join(DTYPES))
    if len(set(found.values())) > 1:
        fields.wrong("dtype", f"{found['torch_dtype']}, as `torch_dtype` says")
    return next(iter(found.values()), None)


def _decoder(fields: Fields, common: _Common) -> DecoderConfig:
    heads = fields.count("num_attention_heads")
    hidden_size = fields.count("hidden_size")
    # Only Llama's library default follows from the config; the others' are another model's value.
    key_value_default = heads if common.model_type == "llama" else None
    key_value_heads = fields.count("num_key_value_heads", key_value_default)
    if heads % key_value_heads:
        fields.wrong("num_key_value_heads", f"a divisor of num_attention_heads, {heads}")
    max_positions = fields.count("max_position_embeddings")
    return DecoderConfig(
        model_type=common.model_type,
        architecture=common.architecture,
        dtype=common.dtype,
        quantized=common.quantized,
        vocab_size=fields.count("vocab_size"),
        hidden_size=hidden_size,
        intermediate_size=fields.count("intermediate_size"),
        num_hidden_layers=fields.count("num_hidden_layers", maximum=MAX_LAYERS),
        num_attention_heads=heads,
        num_key_value_heads=key_value_heads,
        head_dim=_head_dim(fields, common.model_type, hidden_size, heads),
        max_position_embeddings=max_positions,
        rms_norm_eps=fields.number("rms_norm_eps"),
        hidden_act=fields.text("hidden_act", "silu"),
        tie_word_embeddings=fields.flag("tie_word_embeddings", False),
        attention_bias=common.model_type == "qwen2" or fields.flag("attention_bias", False),
        mlp_bias=fields.flag("mlp_bias", False),
        sliding_window=_sliding_window(fields, common.model_type),
        rope=_rope(fields),
    )


def _head_dim(fields: Fields, model_type: str, hidden_size: int, heads: int) -> int:
    """Declared, or what transformers derives: 128 for Qwen3, else hidden size by heads."""
    if model_type == "qwen3":
        return fields.count("head_dim", 128)
    if fields.document.get("head_dim") is None and hidden_size % heads:
        fields.wrong("hidden_size", f"a multiple of num_attention_heads, {heads}")
    return fields.count("head_dim", max(hidden_size // heads, 1))


def _sliding_window(fields: Fields, model_type: str) -> int | None:
    if model_type == "llama" or fields.document.get("sliding_window") is None:
        return None
    window = fields.count("sliding_window")
    return window if model_type == "mistral" or fields.flag("use_sliding_window", False) else None


def _rope(fields: Fields) -> RopeSettings:
    """From `rope_parameters`, or from `rope_theta` and `rope_scaling` as before transformers 5."""
    new = fields.document.get("rope_parameters")
    name = "rope_scaling" if new is None else "rope_parameters"
    nested = fields.nested(name)
    theta_fields = nested if "rope_theta" in nested.document else fields
    parameters = dict(nested.document)
    return RopeSettings(
        theta=theta_fields.number("rope_theta", DEFAULT_ROPE_THETA),
        # "type" is the spelling of the first configs that had scaling at all.
        rope_type=nested.text("rope_type", nested.text("type", "default")),
        factor=nested.number("factor") if "factor" in parameters else None,
        original_max_position_embeddings=(
            nested.count("original_max_position_embeddings")
            if parameters.get("original_max_position_embeddings") is not None
            else None
        ),
        parameters=parameters,
    )


def _encoder(fields: Fields, common: _Common) -> EncoderConfig:
    heads = fields.count("num_attention_heads")
    hidden_size = fields.count("hidden_size")
    if hidden_size % heads:
        fields.wrong("hidden_size", f"a multiple of num_attention_heads, {heads}")
    return EncoderConfig(
        model_type=common.model_type,
        architecture=common.architecture,
        dtype=common.dtype,
        quantized=common.quantized,
        vocab_size=fields.count("vocab_size"),
        hidden_size=hidden_size,
        intermediate_size=fields.count("intermediate_size"),
        num_hidden_layers=fields.count("num_hidden_layers", maximum=MAX_LAYERS),
        num_attention_heads=heads,
        max_position_embeddings=fields.count("max_position_embeddings"),
        type_vocab_size=fields.count("type_vocab_size"),
        layer_norm_eps=fields.number("layer_norm_eps"),
        hidden_act=fields.text("hidden_act", "gelu"),
    )
