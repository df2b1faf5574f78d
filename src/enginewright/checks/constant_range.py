"""Constants of the graph that are NaN, infinite, or beyond what float16 or bfloat16 holds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from numpy.typing import NDArray

from enginewright.checks.exactness import NAMES
from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.flow import MOVES, is_standard
from enginewright.onnx_model.reader import CheckedModel, Constant

HALF_MAX = 65504.0
LARGEST: Mapping[int, float] = {
    onnx.TensorProto.FLOAT16: HALF_MAX,
    onnx.TensorProto.BFLOAT16: 3.3895313892515355e38,
}
"""By type. The least float32, which often masks, is beyond that of bfloat16 too."""
_FLOATS = (
    onnx.TensorProto.BFLOAT16,
    onnx.TensorProto.DOUBLE,
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.FLOAT16,
)
_MASK_FIX = "mask with a finite number such as -30000: it leaves room for the score that is added"


def check_constant_range(checked: CheckedModel) -> Findings:
    """NaN always fails; what is beyond float16 or bfloat16 fails where it becomes that."""
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
    findings = [Findings()]
    for data_type in LARGEST:
        is_half = constant.tensor.data_type == data_type
        if is_half or _becomes(checked, constant.name, data_type):
            findings.append(_check_half(values, here, data_type))
    joined = Findings.join(findings)
    if np.isinf(values).any() and not joined.problems:
        warning = f"{here}: infinite; an attention row in which all is masked with it becomes NaN"
        return Findings(warnings=(warning,))
    return joined


def _check_half(values: NDArray[np.float64], here: str, data_type: int) -> Findings:
    limit, largest = LARGEST[data_type], float(np.abs(values).max(initial=0.0))
    name = NAMES[data_type]
    if largest > limit:
        problem = Problem(
            f"a constant is beyond the range of {name}",
            here,
            f"at most {limit:g} in magnitude",
            f"{largest:g}",
            _MASK_FIX,
        )
        return Findings((problem,))
    if largest == limit:
        warning = (
            f"{here}: the largest {name} number; if it masks attention, a negative score added "
            "to it is minus infinity, and a row in which all is masked becomes NaN"
        )
        return Findings(warnings=(warning,))
    return Findings()


def _becomes(checked: CheckedModel, name: str, data_type: int) -> bool:
    """Whether the constant is cast to the type, directly or behind what passes it on."""
    seen, queue = {name}, [name]
    while queue:
        for node, place in checked.consumers.get(queue.pop(), []):
            if not node.output or node.output[0] in seen:
                continue
            result = checked.types.get(node.output[0])
            if is_standard(node, "Cast", "CastLike") and result == data_type:
                return True
            if _passes_on(node, place):
                seen.add(node.output[0])
                queue.append(node.output[0])
    return False


def _passes_on(node: onnx.NodeProto, place: int) -> bool:
    if is_standard(node, "Mul", "Neg"):
        return True
    places = MOVES.get(node.op_type, ()) if is_standard(node, *MOVES) else ()
    return places is None or place in places
