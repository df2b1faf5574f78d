"""Up to which number the half-precision types hold every whole number."""

from __future__ import annotations

import math
from collections.abc import Mapping

from onnx import TensorProto

from enginewright.checks.findings import Findings
from enginewright.errors import Problem

EXACT_UP_TO: Mapping[int, int] = {TensorProto.FLOAT16: 2**11, TensorProto.BFLOAT16: 2**8}
"""By type: 11 and 8 significant bits, the hidden one included (IEEE 754 binary16, bfloat16)."""
NAMES: Mapping[int, str] = {TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16"}


def describe_exactness(data_type: int, length: int | None) -> str:
    """`float16, which holds whole numbers up to 2048; the model reaches 4096`."""
    reach = "how far the model reaches is not known"
    if length is not None:
        reach = f"the model reaches {length}"
    return f"{NAMES[data_type]}, which holds whole numbers up to {EXACT_UP_TO[data_type]}; {reach}"


def describe_angle_error(data_type: int, length: int | None) -> str:
    """How far the angle of the last position is off, at a frequency of 1: half a unit in its place.

    `float16: the angle of position 4096 is off by up to 2 radians`.
    """
    position = length or EXACT_UP_TO[data_type]
    error = 2.0 ** math.floor(math.log2(position)) / EXACT_UP_TO[data_type]
    return (
        f"{NAMES[data_type]}: the angle of position {position} is off by up to {error:.2g} radians"
    )


def find_inexact(what: str, where: str, data_type: int, length: int | None, fix: str) -> Findings:
    """For whole numbers up to `length` (tokens) that are of a half-precision `data_type`.

    A problem where some are not exact; a warning where the length is not known.
    """
    actual = describe_exactness(data_type, length)
    if length is None:
        return Findings(warnings=(f"{where}: {what}: {actual}; {fix}",))
    if length > EXACT_UP_TO[data_type]:
        return Findings((Problem(what, where, "float32, or whole numbers", actual, fix),))
    return Findings()
