"""The tensors that `config.json` implies for each known family.

Names are the state dictionaries of the classes in transformers 5 (`modeling_*.py`). Shapes follow
PyTorch: the weight of a linear layer is [output size, input size].
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from enginewright.checkpoint.config import Config, DecoderConfig, EncoderConfig

Shape = tuple[int, ...]

BUFFERS = re.compile(
    r"(^|\.)(embeddings\.(position_ids|token_type_ids)|rotary_emb\.inv_freq|"
    r"self_attn\.rotary_emb\.inv_freq)$"
)
"""Buffers that older versions of transformers saved; they follow from the config."""


@dataclass(frozen=True)
class TensorLayout:
    required: Mapping[str, Shape]
    optional: Mapping[str, Shape]
    """Tensors that may be absent, but have this shape when they are there."""

    def shape(self, name: str) -> Shape | None:
        return self.required.get(name, self.optional.get(name))


def expected_tensors(config: Config) -> TensorLayout | None:
    """The tensors of a checkpoint, or None when the architecture or its storage is not known."""
    if config.quantized:
        return None
    if isinstance(config, DecoderConfig):
        return _decoder(config)
    if isinstance(config, EncoderConfig):
        return _encoder(config)
    return None


def _decoder(config: DecoderConfig) -> TensorLayout:
    names, vocabulary = config.names, (config.vocab_size, config.hidden_size)
    embedding = {f"{names.embedding}.weight": vocabulary}
    required: dict[str, Shape] = {**embedding, f"{names.norm}.weight": (config.hidden_size,)}
    for layer in range(config.num_hidden_layers):
        here = names.layer.format(layer=layer)
        required.update((f"{here}.{name}", shape) for name, shape in _decoder_layer(config))
    if not config.has_head:
        return TensorLayout(required, {})
    head = {f"{names.head}.weight": vocabulary}
    if config.tie_word_embeddings:
        return TensorLayout(required, head)
    return TensorLayout({**required, **head}, {})


def _decoder_layer(config: DecoderConfig) -> Iterator[tuple[str, Shape]]:
    names, hidden = config.names, config.hidden_size
    query = config.num_attention_heads * config.head_dim
    key_value = config.num_key_value_heads * config.head_dim
    yield f"{names.input_norm}.weight", (hidden,)
    yield f"{names.middle_norm}.weight", (hidden,)
    yield from _linear(names.query, query, hidden, config.attention_bias)
    yield from _linear(names.key, key_value, hidden, config.attention_bias)
    yield from _linear(names.value, key_value, hidden, config.attention_bias)
    yield from _linear(names.output, hidden, query, config.output_bias)
    if config.family.qk_norm:
        yield f"{names.query_norm}.weight", (config.head_dim,)
        yield f"{names.key_norm}.weight", (config.head_dim,)
    yield from _linear(names.gate, config.intermediate_size, hidden, config.mlp_bias)
    yield from _linear(names.up, config.intermediate_size, hidden, config.mlp_bias)
    yield from _linear(names.down, hidden, config.intermediate_size, config.mlp_bias)


def _encoder(config: EncoderConfig) -> TensorLayout:
    hidden, intermediate = config.hidden_size, config.intermediate_size
    required: dict[str, Shape] = {
        "embeddings.word_embeddings.weight": (config.vocab_size, hidden),
        "embeddings.position_embeddings.weight": (config.max_position_embeddings, hidden),
        "embeddings.token_type_embeddings.weight": (config.type_vocab_size, hidden),
        **dict(_layer_norm("embeddings.LayerNorm", hidden)),
    }
    for layer in range(config.num_hidden_layers):
        here = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            required.update(_linear(f"{here}.attention.self.{part}", hidden, hidden))
        required.update(_linear(f"{here}.attention.output.dense", hidden, hidden))
        required.update(_layer_norm(f"{here}.attention.output.LayerNorm", hidden))
        required.update(_linear(f"{here}.intermediate.dense", intermediate, hidden))
        required.update(_linear(f"{here}.output.dense", hidden, intermediate))
        required.update(_layer_norm(f"{here}.output.LayerNorm", hidden))
    # No task of ours uses the pooler, and sentence models are often saved without it.
    return TensorLayout(required, dict(_linear("pooler.dense", hidden, hidden)))


def _linear(
    name: str, output_size: int, input_size: int, bias: bool = True
) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (output_size, input_size)
    if bias:
        yield f"{name}.bias", (output_size,)


def _layer_norm(name: str, size: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (size,)
    yield f"{name}.bias", (size,)
