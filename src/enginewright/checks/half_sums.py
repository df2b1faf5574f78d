"""Sums over tokens that are half precision: counts of tokens, and softmax written out.

`Softmax` and the norms of ONNX add up in float32 inside, whatever their type; a `ReduceSum` of a
half-precision type has a half-precision result.
"""

from __future__ import annotations

from onnx import NodeProto

from enginewright.checks.exactness import EXACT_UP_TO, NAMES, describe_exactness, find_inexact
from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.flow import Flow, is_standard
from enginewright.onnx_model.reader import CheckedModel
from enginewright.onnx_model.tensors import nodes

_COUNT_FIX = "cast the mask to float32, or add up whole numbers"
_SOFTMAX_FIX = "use the operator Softmax, or cast to float32 before Exp"


def check_half_sums(checked: CheckedModel, length: int | None) -> Findings:
    """`length` is the greatest number of tokens that the model is made for; None: not known."""
    flow = Flow(checked.flat.graph)
    return Findings.join(
        _check(checked, flow, node, length)
        for node in nodes(checked.flat.graph)
        if is_standard(node, "ReduceSum") and checked.types.get(node.input[0]) in EXACT_UP_TO
    )


def _check(checked: CheckedModel, flow: Flow, node: NodeProto, length: int | None) -> Findings:
    where, data_type = checked.place(node), checked.types[node.input[0]]
    origin = _origin(checked, flow, node.input[0])
    if checked.is_whole(origin):
        what = "tokens are counted in half precision"
        return find_inexact(what, where, data_type, length, _COUNT_FIX)
    power = flow.producers.get(origin)
    if power is None or not is_standard(power, "Exp"):
        return Findings()
    if not _is_shifted(flow, power):
        name = NAMES[data_type]
        problem = Problem(
            "a softmax written out adds up exponentials in half precision",
            where,
            "scores less their maximum, or float32",
            f"{name}, no maximum taken off",
            _SOFTMAX_FIX,
        )
        return Findings((problem,))
    if length is not None and length <= EXACT_UP_TO[data_type]:
        return Findings()
    actual = describe_exactness(data_type, length)
    warning = f"{where}: a softmax written out adds up in {actual}; {_SOFTMAX_FIX}"
    return Findings(warnings=(warning,))


def _origin(checked: CheckedModel, flow: Flow, value: str) -> str:
    """Back to what was computed, or to the whole numbers that were cast."""
    seen = {value}
    while not checked.is_whole(value):
        moved = flow.moved_from(value)
        if len(moved) != 1 or moved[0] in seen:
            break
        value = moved[0]
        seen.add(value)
    return value


def _is_shifted(flow: Flow, power: NodeProto) -> bool:
    """Whether Exp takes `scores - max(scores)`, so that no exponential is above 1."""
    difference = flow.producers.get(power.input[0])
    if difference is None or not is_standard(difference, "Sub"):
        return False
    largest = flow.producers.get(difference.input[1])
    return largest is not None and is_standard(largest, "ReduceMax", "Max")
