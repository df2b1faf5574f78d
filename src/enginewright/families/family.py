"""What families of models differ in, as far as weights and graphs depend on it.

A family is one row, a TOML file beside this module. Facts are those of the transformers library
(`configuration_*.py` and `modeling_*.py` of each family, in the version that the row names).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

Bias = Literal["never", "always", "attention_bias", "mlp_bias"]
"""Whether there is one: in every model, in none, or as this field of the config says."""
Window = Literal["never", "sliding_window", "use_sliding_window"]
"""`sliding_window`: that field counts; `use_sliding_window`: it does where that one is true."""


@dataclass(frozen=True)
class DecoderNames:
    """Names of modules in a checkpoint; `{layer}` is the number of a layer, from 0."""

    embedding: str = "model.embed_tokens"
    layer: str = "model.layers.{layer}"
    norm: str = "model.norm"
    head: str = "lm_head"
    input_norm: str = "input_layernorm"
    query: str = "self_attn.q_proj"
    key: str = "self_attn.k_proj"
    value: str = "self_attn.v_proj"
    output: str = "self_attn.o_proj"
    query_norm: str = "self_attn.q_norm"
    key_norm: str = "self_attn.k_norm"
    middle_norm: str = "post_attention_layernorm"
    gate: str = "mlp.gate_proj"
    up: str = "mlp.up_proj"
    down: str = "mlp.down_proj"


@dataclass(frozen=True)
class DecoderFamily:
    """A dense causal language model: RMSNorm, rotary positions, grouped heads, a gated MLP."""

    kind: Literal["decoder"]
    model_type: str
    base: str
    """The library's class without the output head."""
    tasks: Mapping[str, str]
    """Task to the class that does it, for what can be exported."""
    prefix: str = "model."
    """What names of tensors begin with where the class has an output head."""
    head_dim: int | None = None
    """The library's default; None is the hidden size by the number of heads."""
    kv_heads_default: bool = False
    """Whether a config may leave out `num_key_value_heads`, which is then that of the heads."""
    whole_heads: bool = False
    """Whether the library demands a hidden size that is a multiple of the heads."""
    qk_norm: bool = False
    """Queries and keys are normalized, each head on its own."""
    qkv_bias: Bias = "never"
    output_bias: Bias = "never"
    mlp_bias: Bias = "never"
    window: Window = "never"
    layer_types: bool = False
    """Whether layers differ in kind, by `layer_types` or `max_window_layers`, else all have the
    window; the library's model then takes one mask a kind."""
    ignored: Mapping[str, str] = field(default_factory=dict)
    """Fields that the library does not read for this family, and why that is harmless."""
    names: DecoderNames = field(default_factory=DecoderNames)

    @property
    def base_names(self) -> DecoderNames:
        """Names in a checkpoint of the class without a head, which lack the prefix."""
        names = asdict(self.names).items()
        return DecoderNames(**{name: value.removeprefix(self.prefix) for name, value in names})

    def fields(self) -> frozenset[str]:
        """Fields of `config.json` that are read for this family."""
        biases = {self.qkv_bias, self.output_bias, self.mlp_bias} - {"always", "never"}
        windows = {"sliding_window", "use_sliding_window"} if self.window != "never" else set()
        kinds = {"max_window_layers"} if self.layer_types else set()
        return frozenset(_COMMON | _DECODER | biases | windows | kinds)


@dataclass(frozen=True)
class EncoderFamily:
    """A bidirectional encoder with learned positions, LayerNorm after each block."""

    kind: Literal["encoder"]
    model_type: str
    base: str
    tasks: Mapping[str, str]
    prefix: str
    """What names of tensors begin with in checkpoints of a class with a head."""
    ignored: Mapping[str, str] = field(default_factory=dict)

    def fields(self) -> frozenset[str]:
        """Fields of `config.json` that are read for this family."""
        return frozenset(_COMMON | _ENCODER)


Family = DecoderFamily | EncoderFamily

_COMMON = {
    "architectures",
    "hidden_act",
    "hidden_size",
    "intermediate_size",
    "max_position_embeddings",
    "model_type",
    "num_attention_heads",
    "num_hidden_layers",
    "quantization_config",
    "vocab_size",
}
_ENCODER = {"layer_norm_eps", "type_vocab_size"}
_DECODER = {
    "head_dim",
    "layer_types",
    "num_key_value_heads",
    "original_max_position_embeddings",
    "partial_rotary_factor",
    "rms_norm_eps",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "tie_word_embeddings",
}
