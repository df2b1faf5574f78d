"""Tensor-parallel sizes that a model allows."""

from __future__ import annotations

from enginewright.errors import Problem
from enginewright.memory.model_shape import ModelShape

MAX_SIZE = 64


def valid_sizes(shape: ModelShape) -> tuple[int, ...]:
    """Numbers of GPUs, up to `MAX_SIZE`, that share the heads evenly.

    Each GPU gets whole attention heads; KV heads are shared evenly too, or each is repeated on the
    same number of GPUs. A latent cache has no KV heads to share.
    """
    return tuple(size for size in range(1, MAX_SIZE + 1) if _valid(shape, size))


def _valid(shape: ModelShape, size: int) -> bool:
    if shape.heads % size:
        return False
    return not any(heads % size and size % heads for heads in _kv_heads(shape))


def _kv_heads(shape: ModelShape) -> tuple[int, ...]:
    """The different numbers of KV heads that layers have."""
    return tuple(sorted({layer.kv_heads for layer in shape.layers if layer.kv_heads}))


def size_problem(shape: ModelShape, size: int) -> Problem | None:
    """Why the model cannot be shared by `size` GPUs, or None when it can."""
    if size in valid_sizes(shape):
        return None
    if shape.heads % size:
        why = f"{shape.heads} attention heads cannot be shared by {size} GPUs"
    else:
        heads = " or ".join(str(number) for number in _kv_heads(shape))
        why = f"{heads} KV heads cannot be shared by, or repeated on, {size} GPUs"
    return Problem(
        why,
        "tensor-parallel size",
        "one of " + ", ".join(str(item) for item in valid_sizes(shape)),
        str(size),
    )
