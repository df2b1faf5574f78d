"""Converts the weights of a checkpoint to one floating-point type, a piece at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from enginewright.errors import Problem
from enginewright.exporters.direct.weight_layout import ConvertedFile, ExternalTensor
from enginewright.onnx_model.element_type import ElementType

PIECE_ELEMENTS = 4 * 1024 * 1024
"""Elements converted at once: 16 MiB of float32, so memory does not grow with the checkpoint."""

NUMPY_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}


_LARGEST = {"F32": 3.4028235e38, "F16": 65504.0, "BF16": 3.3895314e38}


@dataclass(frozen=True)
class ConvertedTensor:
    name: str
    underflows: int
    """Elements that were not zero and became zero."""
    problem: Problem | None


def convert_file(
    layout: ConvertedFile, source: Path, destination: Path, to: ElementType
) -> tuple[ConvertedTensor, ...]:
    """Write the safetensors file that `layout` describes; rounding is to nearest, ties to even."""
    with source.open("rb") as reader, destination.open("wb") as writer:
        writer.write(layout.header)
        return tuple(_convert(tensor, reader, writer, to) for tensor in layout.source)


def _convert(
    tensor: ExternalTensor, reader: BinaryIO, writer: BinaryIO, to: ElementType
) -> ConvertedTensor:
    stored, wanted = NUMPY_TYPES[tensor.dtype], NUMPY_TYPES[to.safetensors]
    left = (tensor.end - tensor.begin) // stored.itemsize
    reader.seek(tensor.begin)
    underflows = infinite = too_large = 0
    largest = 0.0
    while left:
        count = min(left, PIECE_ELEMENTS)
        piece = np.frombuffer(reader.read(count * stored.itemsize), stored)
        if len(piece) != count:
            early = Problem("the weights end too early", f"{tensor.file}, `{tensor.name}`")
            return ConvertedTensor(tensor.name, underflows, early)
        converted = _cast(piece, wanted)
        writer.write(converted.tobytes())
        left -= count
        finite = np.isfinite(piece)
        infinite += count - int(np.count_nonzero(finite))
        overflow = finite & ~np.isfinite(converted)
        too_large += int(np.count_nonzero(overflow))
        if overflow.any():
            largest = max(largest, float(np.abs(piece[overflow].astype(np.float32)).max()))
        underflows += int(np.count_nonzero((piece != 0) & (converted == 0)))
    where = f"{tensor.file}, `{tensor.name}`"
    problem: Problem | None = None
    if infinite:
        problem = Problem("a weight is not a finite number", where, actual=f"{infinite} elements")
    elif too_large:
        limit = _LARGEST[to.safetensors]
        problem = Problem(
            f"weights are outside the range of {to.name}",
            where,
            f"at most {limit:g}",
            f"{too_large} elements, the largest {largest:g}",
            "use bfloat16 or float32",
        )
    return ConvertedTensor(tensor.name, underflows, problem)


def _cast(piece: NDArray[Any], wanted: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # bfloat16 to float16 goes through float32, which holds both.
        return piece.astype(np.float32).astype(wanted)
