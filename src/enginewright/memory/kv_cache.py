"""The KV cache: bytes a token, and how many tokens fit.

Formula: two tensors (K and V) of `kv_heads * head_dim` elements for each layer and token; a
multi-head latent attention caches one vector of `kv_lora_rank + qk_rope_head_dim` elements instead.
With tensor parallelism each GPU holds its share of the KV heads, at least one; the latent vector is
the same on each.
"""

from __future__ import annotations

from enginewright.memory.model_shape import ModelShape

BLOCK = 16
"""Tokens of one cache block in vLLM on NVIDIA GPUs."""
DTYPE_BYTES = {
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "int8": 1,
}


def layer_token_bytes(shape: ModelShape, kv_dtype: str, tensor_parallel: int) -> int:
    """Bytes that one token takes in one layer, on one GPU."""
    size = DTYPE_BYTES[kv_dtype]
    if shape.latent_width:
        return shape.latent_width * size
    return 2 * max(shape.kv_heads // tensor_parallel, 1) * shape.head_dim * size


def token_bytes(shape: ModelShape, kv_dtype: str, tensor_parallel: int = 1) -> int:
    """Bytes that one token takes in all layers, on one GPU."""
    return shape.layers * layer_token_bytes(shape, kv_dtype, tensor_parallel)


def sequence_bytes(shape: ModelShape, length: int, kv_dtype: str, tensor_parallel: int = 1) -> int:
    """Bytes of a sequence of `length` tokens on one GPU, in whole blocks.

    Sliding layers keep their window only; a runtime without that saving keeps everything.
    """
    one = layer_token_bytes(shape, kv_dtype, tensor_parallel)
    whole = _blocks(length) * BLOCK
    window = min(whole, _blocks(shape.sliding_window) * BLOCK)
    return one * ((shape.layers - shape.sliding_layers) * whole + shape.sliding_layers * window)


def _blocks(tokens: int) -> int:
    return -(-tokens // BLOCK)


def fitting_length(
    shape: ModelShape, available: int, kv_dtype: str, tensor_parallel: int = 1
) -> int:
    """The longest sequence, in whole blocks, whose cache fits in `available` bytes; 0 for none."""
    one = layer_token_bytes(shape, kv_dtype, tensor_parallel)
    full = shape.layers - shape.sliding_layers
    everywhere = available // (one * shape.layers * BLOCK) * BLOCK
    window = _blocks(shape.sliding_window) * BLOCK
    if not shape.sliding_layers or everywhere < window:
        return max(everywhere, 0)
    if not full:
        return shape.length.tokens
    left = available - one * shape.sliding_layers * window
    return max(left // (one * full * BLOCK) * BLOCK, window)


def cache_tokens(shape: ModelShape, available: int, kv_dtype: str, tensor_parallel: int = 1) -> int:
    """Tokens of all sequences together, in whole blocks, when no layer saves by its window."""
    return max(available // (token_bytes(shape, kv_dtype, tensor_parallel) * BLOCK) * BLOCK, 0)
