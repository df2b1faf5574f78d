"""Scales and integers that stand for a matrix with the least squared error.

No data is needed: for each group, shrunken scales are tried, and each is refined once to the least
squares scale of the integers it gave (for fixed integers q the best scale is <w,q> / <q,q>). Sums
run along the first axis, where numpy adds row after row: the result does not depend on the width of
the processor's vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enginewright.passes.quantization.scheme import Scheme

SHRINK_FACTORS = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65)
"""Clipping the outermost weight of a group makes all others finer."""
PIECE_ELEMENTS = 256 * 1024
"""Elements worked on at once: 1 MiB of float32 stays in the processor's cache."""


@dataclass(frozen=True)
class QuantizedMatrix:
    integers: NDArray[np.int8]
    """Shape [inputs, outputs]."""
    scales: NDArray[Any]
    """Shape [inputs / group_size, outputs], or [outputs] without groups; type of the model."""
    squared_error: float
    """Sum over all elements of (weight - integer * scale)^2."""
    squared_sum: float
    """Sum of the squared weights."""


def quantize_matrix(
    weight: NDArray[np.float32], scheme: Scheme, scale_type: np.dtype[Any]
) -> QuantizedMatrix:
    """Quantize `weight`, shape [inputs, outputs], whose inputs the group size divides."""
    inputs, outputs = weight.shape
    size = scheme.group_size or inputs
    groups = inputs // size
    integers = np.empty((inputs, outputs), np.int8)
    scales = np.empty((groups, outputs), scale_type)
    squared_error = squared_sum = 0.0
    width = max(PIECE_ELEMENTS // inputs, 16)
    for first in range(0, outputs, width):
        columns = slice(first, min(first + width, outputs))
        # Rows of one group first, so that sums over a group are sums of whole [groups, columns].
        piece = np.ascontiguousarray(
            weight[:, columns].reshape(groups, size, -1).swapaxes(0, 1), np.float32
        )
        best, found, error = _best_scales(piece, scheme, scale_type)
        scales[:, columns] = best
        integers[:, columns] = found.swapaxes(0, 1).reshape(inputs, -1)
        squared_error += float(error.sum(dtype=np.float64))
        squared_sum += float(np.square(piece).sum(dtype=np.float64))
    final = scales if scheme.group_size else scales[0]
    return QuantizedMatrix(integers, final, squared_error, squared_sum)


Piece = NDArray[np.float32]
"""Shape [group_size, groups, columns]."""


def _best_scales(
    piece: Piece, scheme: Scheme, scale_type: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.int8], NDArray[np.float32]]:
    """Scales and errors [groups, columns], integers [group_size, groups, columns]."""
    largest = np.abs(piece).max(axis=0)
    start = np.where(largest > 0, largest / scheme.highest, 1.0).astype(np.float32)
    best_scales = _storable(start, scale_type)
    best_error = _squared_error(piece, best_scales.astype(np.float32), scheme)
    for factor in SHRINK_FACTORS:
        candidate = _storable(start * np.float32(factor), scale_type)
        refined = _storable(_least_squares(piece, candidate, scheme), scale_type)
        error = _squared_error(piece, refined.astype(np.float32), scheme)
        better = error < best_error
        best_error = np.where(better, error, best_error)
        best_scales = np.where(better, refined, best_scales)
    wide = best_scales.astype(np.float32)
    integers = _round(piece, wide, scheme).astype(np.int8)
    return best_scales, integers, best_error


def _storable(scales: NDArray[np.float32], scale_type: np.dtype[Any]) -> NDArray[Any]:
    """Rounded to the type of the model, and never zero, which would lose the whole group."""
    smallest = np.float32(2.0**-24 if scale_type == np.float16 else 1e-30)
    return np.maximum(scales, smallest).astype(scale_type)


def _round(
    rows: NDArray[np.float32], scales: NDArray[np.float32], scheme: Scheme
) -> NDArray[np.float32]:
    rounded: NDArray[np.float32] = np.rint(rows / scales)
    return rounded.clip(scheme.lowest, scheme.highest)


def _least_squares(piece: Piece, scales: NDArray[Any], scheme: Scheme) -> NDArray[np.float32]:
    wide = scales.astype(np.float32)
    integers = _round(piece, wide, scheme)
    products = (piece * integers).sum(axis=0)
    squares = np.square(integers).sum(axis=0)
    return np.where(squares > 0, products / np.maximum(squares, 1), wide).astype(np.float32)


def _squared_error(
    piece: Piece, scales: NDArray[np.float32], scheme: Scheme
) -> NDArray[np.float32]:
    difference = piece - _round(piece, scales, scheme) * scales
    error: NDArray[np.float32] = np.square(difference).sum(axis=0)
    return error
