"""Reads `config.json` of a checkpoint: what the weights' shapes and the exported graph depend on.

Field names and defaults are those of the transformers library 5 (`configuration_*.py` of each
family); both its present spellings and the ones before version 5 are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.checkpoint.config_fields import Fields
from enginewright.checkpoint.layers import Layer, read_layers
from enginewright.checkpoint.rope import RopeSettings, read_rope
from enginewright.checkpoint.unread_fields import Unread, unread_fields
from enginewright.errors import Problem, raise_if_any
from enginewright.families.family import Bias, DecoderFamily, DecoderNames, EncoderFamily
from enginewright.families.registry import architectures, families

DTYPES = ("bfloat16", "float16", "float32", "float64")
MAX_LAYERS = 4096
"""Far above any model; a corrupt count must not make the check of the tensors endless."""
NOTHING_UNREAD = Unread((), ())


@dataclass(frozen=True)
class DecoderConfig:
    """A dense causal language model; sizes are counts of elements."""

    family: DecoderFamily
    architecture: str
    dtype: str | None
    """What the config wishes, one of `DTYPES`; the weights say what it is."""
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    rms_norm_eps: float
    hidden_act: str
    tie_word_embeddings: bool
    """What the config says; a stored head counts all the same, as in transformers 5."""
    attention_bias: bool
    """Whether q, k and v have biases."""
    output_bias: bool
    """Whether the output projection of the attention has a bias."""
    mlp_bias: bool
    layers: tuple[Layer, ...]
    rope: RopeSettings
    quantized: bool = False
    unread: Unread = NOTHING_UNREAD
    contradictions: tuple[Problem, ...] = ()
    """Fields that say different things: no exporter takes the checkpoint."""

    @property
    def model_type(self) -> str:
        return self.family.model_type

    @property
    def num_hidden_layers(self) -> int:
        return len(self.layers)

    @property
    def has_head(self) -> bool:
        """Whether the class has an output head, which computes logits."""
        return self.architecture != self.family.base

    @property
    def names(self) -> DecoderNames:
        """Of the modules of the architecture."""
        return self.family.names if self.has_head else self.family.base_names

    @property
    def sliding_window(self) -> int | None:
        """Of the layers that have one; None where none has."""
        return next((layer.window for layer in self.layers if layer.window is not None), None)


@dataclass(frozen=True)
class EncoderConfig:
    """A bidirectional encoder; sizes are counts of elements."""

    family: EncoderFamily
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
    unread: Unread = NOTHING_UNREAD

    @property
    def model_type(self) -> str:
        return self.family.model_type


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

    Raises `InputError` with all problems. Fields that nobody reads, and fields that contradict each
    other, are none of the checkpoint itself: `exportable.check_exportable` refuses them.
    """
    problems: list[Problem] = []
    fields = Fields(document, where, problems)
    model_type, architecture = _model_type(fields), _architecture(fields)
    family = architectures().get(architecture)
    if family is not None and model_type and family.model_type != model_type:
        problems.append(
            Problem(
                "the architecture does not belong to the model type",
                f"{where}, `architectures`",
                f"an architecture of `{model_type}`",
                f"`{architecture}`, which is one of `{family.model_type}`",
            )
        )
    if not architecture:  # the fields of the family are still checked: all problems at once
        family = families().get(model_type)
    dtype = declared_dtype(document)
    quantized = isinstance(document.get("quantization_config"), Mapping)
    config: Config = OtherConfig(model_type, architecture, dtype, quantized)
    if isinstance(family, DecoderFamily):
        config = _decoder(fields, family, architecture, dtype)
    elif isinstance(family, EncoderFamily):
        config = _encoder(fields, family, architecture, dtype)
    raise_if_any(problems)
    return config


def _model_type(fields: Fields) -> str:
    known = ", ".join(f"`{name}`" for name in families())
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
            f'a list with one class name, such as ["{next(iter(architectures()))}"]',
            "no such field" if value is None else repr(value)[:100],
            "add the name of the transformers class that the weights were saved from",
        )
    )
    return ""


def declared_dtype(document: Mapping[str, Any]) -> str | None:
    """What the config wishes: `dtype`, or `torch_dtype` as it was called before transformers 5.

    None where it says nothing, or something that is no dtype of weights, such as "auto".
    """
    for name in ("dtype", "torch_dtype"):
        value = document.get(name)
        if value is not None:
            text = value.removeprefix("torch.") if isinstance(value, str) else ""
            return text if text in DTYPES else None
    return None


def _decoder(
    fields: Fields, family: DecoderFamily, architecture: str, dtype: str | None
) -> DecoderConfig:
    heads = fields.count("num_attention_heads")
    hidden_size = fields.count("hidden_size")
    # Where a library default is another model's value, it does not follow from the config.
    key_value_heads = fields.count(
        "num_key_value_heads", heads if family.kv_heads_default else None
    )
    if heads % key_value_heads:
        fields.wrong("num_key_value_heads", f"a divisor of num_attention_heads, {heads}")
    count = fields.count("num_hidden_layers", maximum=MAX_LAYERS)
    layers, rope = read_layers(fields, family, count), read_rope(fields)
    return DecoderConfig(
        family=family,
        architecture=architecture,
        dtype=dtype,
        quantized=isinstance(fields.document.get("quantization_config"), Mapping),
        vocab_size=fields.count("vocab_size"),
        hidden_size=hidden_size,
        intermediate_size=fields.count("intermediate_size"),
        num_attention_heads=heads,
        num_key_value_heads=key_value_heads,
        head_dim=_head_dim(fields, family, hidden_size, heads),
        max_position_embeddings=fields.count("max_position_embeddings"),
        rms_norm_eps=fields.number("rms_norm_eps"),
        hidden_act=fields.text("hidden_act", "silu"),
        tie_word_embeddings=fields.flag("tie_word_embeddings", False),
        attention_bias=_bias(fields, family.qkv_bias),
        output_bias=_bias(fields, family.output_bias),
        mlp_bias=_bias(fields, family.mlp_bias),
        layers=layers,
        rope=rope,
        unread=unread_fields(fields.document, family, fields.where),
        contradictions=tuple(fields.contradictions),
    )


def _bias(fields: Fields, rule: Bias) -> bool:
    return fields.flag(rule, False) if rule.endswith("_bias") else rule == "always"


def _head_dim(fields: Fields, family: DecoderFamily, hidden_size: int, heads: int) -> int:
    """Declared, or what transformers derives: the family's own size, else hidden size by heads."""
    is_declared = fields.document.get("head_dim") is not None
    derives = not is_declared and family.head_dim is None
    if hidden_size % heads and (derives or family.whole_heads):
        fields.wrong("hidden_size", f"a multiple of num_attention_heads, {heads}")
    head_dim = fields.count("head_dim", family.head_dim or max(hidden_size // heads, 1))
    if head_dim % 2:
        name = "head_dim" if is_declared else "hidden_size"
        fields.wrong(name, f"an even size of each head for the rotation, not {head_dim}")
    return head_dim


def _encoder(
    fields: Fields, family: EncoderFamily, architecture: str, dtype: str | None
) -> EncoderConfig:
    heads = fields.count("num_attention_heads")
    hidden_size = fields.count("hidden_size")
    if hidden_size % heads:
        fields.wrong("hidden_size", f"a multiple of num_attention_heads, {heads}")
    return EncoderConfig(
        family=family,
        architecture=architecture,
        dtype=dtype,
        quantized=isinstance(fields.document.get("quantization_config"), Mapping),
        vocab_size=fields.count("vocab_size"),
        hidden_size=hidden_size,
        intermediate_size=fields.count("intermediate_size"),
        num_hidden_layers=fields.count("num_hidden_layers", maximum=MAX_LAYERS),
        num_attention_heads=heads,
        max_position_embeddings=fields.count("max_position_embeddings"),
        type_vocab_size=fields.count("type_vocab_size"),
        layer_norm_eps=fields.number("layer_norm_eps"),
        hidden_act=fields.text("hidden_act", "gelu"),
        unread=unread_fields(fields.document, family, fields.where),
    )
