"""Constants of the graph that are NaN, infinite, or beyond what float16 holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.reader import CheckedModel, Constant

HALF_MAX = 65504.0
_FLOATS = (
    onnx.TensorProto.BFLOAT16,
    onnx.TensorProto.DOUBLE,
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.FLOAT16,
)
_MASK_FIX = "mask with a finite number such as -30000: it leaves room for the score that is added"


def check_constant_range(checked: CheckedModel) -> Findings:
    """NaN always fails; infinities and numbers beyond 65504 fail where they become float16."""
    return Findings.join(
        _check(checked, constant)
        for constant in checked.constants
        if constant.tensor.data_type in _FLOATS
    )


def _check(checked: CheckedModel, constant: Constant) -> Findings:
    values = onnx.numpy_helper.to_array(constant.tensor).astype(np.float64)
    here = f"{checked.where}, constant `{constant.name}`"
    if np.isnan(values).any():
        return Findings((Problem("a constant is NaN", here, "a number"),))
    largest = float(np.abs(values).max(initial=0.0))
    if largest < HALF_MAX:
        return Findings()
    is_half = constant.tensor.data_type == onnx.TensorProto.FLOAT16
    becomes_half = is_half or any(_half_casts(checked, constant.name))
    if largest > HALF_MAX and becomes_half:
        problem = Problem(
            "a constant is beyond the range of float16",
            here,
            f"at most {HALF_MAX:g} in magnitude",
            f"{largest:g}",
            _MASK_FIX,
        )
        return Findings((problem,))
    if largest == HALF_MAX and becomes_half:
        warning = (
            f"{here}: the largest float16 number; if it masks attention, a negative score added "
            "to it is minus infinity, and a row in which all is masked becomes NaN"
        )
        return Findings(warnings=(warning,))
    if np.isinf(values).any():
        warning = f"{here}: infinite; an attention row in which all is masked with it becomes NaN"
        return Findings(warnings=(warning,))
    return Findings()


def _half_casts(checked: CheckedModel, name: str) -> Iterator[bool]:
    for node, _ in checked.consumers.get(name, []):
        if node.op_type == "Cast":
            target = next(item.i for item in node.attribute if item.name == "to")
            yield target == onnx.TensorProto.FLOAT16
        elif node.op_type == "CastLike":
            yield checked.types.get(node.output[0]) == onnx.TensorProto.FLOAT16
        elif node.op_type in ("Where", "Reshape", "Unsqueeze", "Expand", "Identity", "Mul"):
            yield from _half_casts(checked, node.output[0])
