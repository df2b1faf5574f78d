"""Values of external weights: no NaN, no infinity, none beyond float16 in a float16 model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from enginewright.checks.constant_range import HALF_MAX
from enginewright.checks.external_data import ExternalTensor
from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.data_type import DATA_TYPES

CHUNK_ELEMENTS = 2**22


def check_weight_values(
    tensors: tuple[ExternalTensor, ...], files: Mapping[str, Path], where: str, dtype: str
) -> Findings:
    """Read each floating-point tensor in chunks; `dtype` is the one that the model was made for.

    The tensors must lie inside their files, see `check_external_data`.
    """
    problems: list[Problem] = []
    seen: set[tuple[str, int, int]] = set()
    for tensor in tensors:
        place = (tensor.location, tensor.begin, tensor.end)
        if _is_checked(tensor.dtype) and place not in seen:
            problems.extend(_check(tensor, files[tensor.location], where, dtype))
        seen.add(place)
    return Findings(tuple(problems))


def _is_checked(number: int) -> bool:
    """Floating-point numbers of whole bytes: those below a byte have no NaN and no infinity."""
    data_type = DATA_TYPES[number]
    return data_type.is_floating and data_type.bits >= 8


def _check(tensor: ExternalTensor, path: Path, where: str, dtype: str) -> list[Problem]:
    nan = infinite = beyond = 0
    largest = 0.0
    for values in _chunks(tensor, path):
        finite = np.isfinite(values)
        if not finite.all():
            nan += int(np.isnan(values).sum())
            infinite += int(np.isinf(values).sum())
        if dtype == "float16" and values.dtype != np.float16:
            magnitude = np.abs(values[finite].astype(np.float64))
            beyond += int((magnitude > HALF_MAX).sum())
            largest = max(largest, float(magnitude.max(initial=0.0)))
    here = f"{where}, tensor `{tensor.name}` in `{tensor.location}`"
    problems = []
    if nan or infinite:
        actual = f"{nan} NaN and {infinite} infinite values"
        fix = "export again from sound weights, or in a dtype with a greater range"
        problems.append(Problem("weights are not finite", here, "finite numbers", actual, fix))
    if beyond:
        problems.append(
            Problem(
                "weights are beyond the range of float16",
                here,
                f"at most {HALF_MAX:g} in magnitude",
                f"{beyond} values, the largest {largest:g}",
                "export as bfloat16 or float32",
            )
        )
    return problems


def _chunks(tensor: ExternalTensor, path: Path) -> Iterator[npt.NDArray[np.generic]]:
    item = DATA_TYPES[tensor.dtype].numpy
    with path.open("rb") as stream:
        stream.seek(tensor.begin)
        left = tensor.end - tensor.begin
        while left:
            data = stream.read(min(left, CHUNK_ELEMENTS * item.itemsize))
            if not data:
                return
            left -= len(data)
            yield np.frombuffer(data, dtype=item)
