"""Device memory that an engine needs at the largest shapes of a profile, estimated.

The formulas count the tensors that must live at one time in a decoder layer when norms, rotation
and attention are fused, as TensorRT for RTX does; the library may choose otherwise. No GPU that it
supports was at hand, so these figures were never compared with a device.
"""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.checkpoint.config import EncoderConfig
from enginewright.memory.dtype import DTYPE_BYTES
from enginewright.memory.kv_cache import token_bytes
from enginewright.memory.model_shape import ModelShape

FLOAT32_BYTES = 4
INT64_BYTES = 8


@dataclass(frozen=True)
class ProfileShape:
    """The largest shapes of a profile."""

    batch: int
    sequence: int
    past_sequence: int
    """0 without a KV cache."""

    @property
    def tokens(self) -> int:
        return self.batch * self.sequence

    @property
    def total_sequence(self) -> int:
        return self.past_sequence + self.sequence


@dataclass(frozen=True)
class ProfileMemory:
    kv_cache_bytes: int
    """Past and present: both exist during a step, since the graph concatenates."""
    activation_bytes: int
    input_output_bytes: int
    """Token ids, mask, positions and the result, without the KV cache."""

    @property
    def bytes(self) -> int:
        return self.kv_cache_bytes + self.activation_bytes + self.input_output_bytes


def decoder_memory(
    model: ModelShape, dtype: str, shape: ProfileShape, *, with_past: bool, last_logits: bool
) -> ProfileMemory:
    """Bytes for a decoder whose weights and activations are `dtype`, of `COMPUTED`."""
    element, tokens = DTYPE_BYTES[dtype], shape.tokens
    head_dim = max(layer.key_dim for layer in model.layers)
    heads = model.heads + 2 * max(layer.kv_heads for layer in model.layers)
    attention = tokens * element * (2 * model.hidden_size + heads * head_dim)
    if dtype == "float32":
        # Scores are written out: TensorRT for RTX 1.7 has no fused attention for float32.
        scores = shape.batch * model.heads * shape.sequence * shape.total_sequence
        attention += 2 * scores * element
    feed_forward = tokens * element * 2 * (model.hidden_size + model.intermediate_size)
    rotary = tokens * head_dim * FLOAT32_BYTES
    mask = shape.batch * shape.sequence * shape.total_sequence
    kv_cache = 0
    if with_past:
        kept = shape.past_sequence + shape.total_sequence
        kv_cache = shape.batch * kept * token_bytes(model, dtype)
    rows = shape.batch if last_logits else tokens
    inputs = 2 * tokens + shape.batch * shape.total_sequence
    return ProfileMemory(
        kv_cache,
        max(attention, feed_forward) + rotary + mask,
        inputs * INT64_BYTES + rows * model.vocab_size * element,
    )


def encoder_memory(config: EncoderConfig, dtype: str, shape: ProfileShape) -> ProfileMemory:
    """The same for an encoder, which has no cache."""
    element, tokens = DTYPE_BYTES[dtype], shape.tokens
    attention = tokens * element * 5 * config.hidden_size
    scores = shape.batch * config.num_attention_heads * shape.sequence * shape.sequence
    if dtype == "float32":
        attention += 2 * scores * element
    feed_forward = tokens * element * (2 * config.hidden_size + config.intermediate_size)
    inputs = 3 * tokens * INT64_BYTES
    output = shape.batch * config.hidden_size * element
    return ProfileMemory(0, max(attention, feed_forward), inputs + output)
