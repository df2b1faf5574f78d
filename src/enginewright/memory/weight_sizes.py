"""Counts the parameters of a model and their bytes once stored in an engine."""

from __future__ import annotations

import fnmatch
import math
from dataclasses import dataclass

from enginewright.checkpoint.config import Config
from enginewright.checkpoint.tensor_layout import expected_tensors
from enginewright.errors import InputError, Problem
from enginewright.memory.dtype import DTYPE_BYTES


@dataclass(frozen=True)
class Quantization:
    bits: int
    """4 or 8."""
    group_size: int | None
    """Inputs that share a scale; None for one scale an output channel."""
    keep: tuple[str, ...]
    """Patterns of weights that stay; embeddings and the output head always do."""


@dataclass(frozen=True)
class WeightSizes:
    parameters: int
    """All of them, tied ones once."""
    embedding_parameters: int
    """Embedding tables and an output head of its own."""
    matrix_parameters: int
    """Weights of the layers' matrix products: what quantization shrinks."""
    vector_parameters: int
    """Norms and biases."""
    bytes: int
    """As stored in the engine."""
    matrix_bytes: int
    repacked_bytes: int
    """What a plan stores a second time when one of several profiles is for a single token: matrices
    that read the hidden state, unless quantized (seen with TensorRT for RTX 1.7.1)."""


def weight_sizes(config: Config, dtype: str, quantization: Quantization | None) -> WeightSizes:
    """Raises `InputError` for an architecture whose tensors are not known."""
    layout = expected_tensors(config)
    if layout is None:
        raise InputError(
            Problem(
                "the size of this architecture cannot be computed from its config",
                "config.json, `architectures`",
                "a known, unquantized architecture",
                config.architecture,
            )
        )
    element = DTYPE_BYTES[dtype]
    embedding = matrix = vector = matrix_bytes = repacked = 0
    for name, shape in layout.required.items():
        count = math.prod(shape)
        if len(shape) < 2:
            vector += count
        elif ".layers." in name or name.startswith(("layers.", "encoder.layer.")):
            matrix += count
            stored = _matrix_bytes(name, shape, element, quantization)
            matrix_bytes += stored
            if stored == count * element and not name.endswith("down_proj.weight"):
                repacked += stored
        else:
            embedding += count
    return WeightSizes(
        embedding + matrix + vector,
        embedding,
        matrix,
        vector,
        (embedding + vector) * element + matrix_bytes,
        matrix_bytes,
        repacked,
    )


def _matrix_bytes(
    name: str, shape: tuple[int, ...], element: int, quantization: Quantization | None
) -> int:
    """`shape` is [outputs, inputs]; the same exceptions as `quantization.matrix_weights`."""
    outputs, inputs = shape
    plain = outputs * inputs * element
    if quantization is None or any(fnmatch.fnmatchcase(name, p) for p in quantization.keep):
        return plain
    group = quantization.group_size or inputs
    if inputs % group:
        return plain
    integers = (outputs * inputs * quantization.bits + 7) // 8
    return integers + outputs * (inputs // group) * element
