"""The KV cache: bytes a token, and how many tokens fit. The one formula, for engines and servers.

A layer of attention keeps a key and a value for each of its KV heads and tokens, a latent attention
one vector of `kv_lora_rank + qk_rope_head_dim` elements. Linear and state-space layers keep a state
of fixed size for each sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.memory.dtype import DTYPE_BYTES
from enginewright.memory.model_shape import ModelShape

BLOCK = 16
"""Tokens of one cache block in vLLM on NVIDIA GPUs."""


def token_bytes(shape: ModelShape, kv_dtype: str, tensor_parallel: int = 1) -> int:
    """Bytes that one token takes in all layers, on one GPU, while it is in every window."""
    elements = sum(layer.token_elements(tensor_parallel) for layer in shape.layers)
    return elements * DTYPE_BYTES[kv_dtype]


def growing_bytes(shape: ModelShape, kv_dtype: str, tensor_parallel: int = 1) -> int:
    """Bytes that a token adds once the sequence is longer than every window."""
    layers = (layer for layer in shape.layers if not layer.window)
    return sum(layer.token_elements(tensor_parallel) for layer in layers) * DTYPE_BYTES[kv_dtype]


@dataclass(frozen=True)
class CacheRequest:
    """How a server keeps its cache, on one GPU."""

    kv_dtype: str
    dtype: str
    """Of the computation: states of fixed size follow it."""
    tensor_parallel: int = 1
    step_tokens: int = 1
    """Tokens of a sequence that one step computes at most; a window keeps them beside its own."""


def sequence_bytes(shape: ModelShape, length: int, request: CacheRequest) -> int:
    """Bytes of a sequence of `length` tokens on one GPU, in whole blocks, with its fixed state.

    Sliding layers keep their window less one, and the tokens of a step, in one block more, as vLLM
    does (`SlidingWindowSpec.max_memory_usage_bytes`); a runtime without that keeps everything.
    """
    size = DTYPE_BYTES[request.kv_dtype]
    total = state_bytes(shape, request)
    for layer in shape.caching_layers:
        kept = _blocks(length)
        if layer.window:
            kept = min(kept, _blocks(layer.window - 1 + request.step_tokens) + 1)
        total += kept * BLOCK * layer.token_elements(request.tensor_parallel) * size
    return total


def state_bytes(shape: ModelShape, request: CacheRequest) -> int:
    """Bytes that a sequence of any length keeps on one GPU."""
    return sum(layer.state_bytes(request.dtype, request.tensor_parallel) for layer in shape.layers)


def _blocks(tokens: int) -> int:
    return -(-tokens // BLOCK)


def fitting_length(shape: ModelShape, available: int, request: CacheRequest) -> int:
    """The longest sequence, in whole blocks, whose cache fits in `available` bytes; 0 for none.

    Never more than what the config allows, rounded up to a block.
    """
    low, high = 0, _blocks(shape.length.tokens)
    if sequence_bytes(shape, BLOCK, request) > available:
        return 0
    grows = growing_bytes(shape, request.kv_dtype, request.tensor_parallel)
    if grows:
        high = max(high, available // (grows * BLOCK))
    while low < high:
        middle = (low + high + 1) // 2
        if sequence_bytes(shape, middle * BLOCK, request) <= available:
            low = middle
        else:
            high = middle - 1
    return low * BLOCK


def cache_tokens(shape: ModelShape, available: int, request: CacheRequest) -> int:
    """Tokens of one sequence, or of several without a fixed state, when no window saves anything.

    In whole blocks. The fixed state of one sequence is taken off.
    """
    one = token_bytes(shape, request.kv_dtype, request.tensor_parallel)
    left = available - state_bytes(shape, request)
    if not one or left <= 0:
        return 0
    return left // (one * BLOCK) * BLOCK
