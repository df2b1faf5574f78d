"""Norms that square float16 values: from 256 on the square is beyond 65504, the largest number.

An RMS norm of 300s in float16 gives 0 instead of 1. The squares must be float32, or the norm one
of ONNX's own operators with `stash_type` 1.
"""

from __future__ import annotations

import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.reader import CheckedModel
from enginewright.onnx_model.tensors import nodes

_NORMS = ("GroupNormalization", "LayerNormalization", "RMSNormalization")
_SQUARE_SUMS = ("ReduceL2", "ReduceSumSquare")
_FIX = "cast to float32 before the norm, or use RMSNormalization or LayerNormalization"


def check_half_norms(checked: CheckedModel) -> Findings:
    """Fail for each node that adds up float16 squares, or normalizes with float16 statistics."""
    squares: set[str] = set()
    problems = []
    for node in nodes(checked.flat.graph):
        if not any(
            checked.types.get(name) == onnx.TensorProto.FLOAT16 for name in node.input if name
        ):
            continue
        if _is_square(node):
            squares.update(node.output)
        elif node.op_type in ("ReduceMean", "ReduceSum") and node.input[0] in squares:
            problems.append(_problem(checked, node, "float32 squares", "float16 squares"))
        elif node.op_type in _SQUARE_SUMS:
            problems.append(_problem(checked, node, "a float32 input", "a float16 input"))
        elif node.op_type in _NORMS and _stash_type(node) != onnx.TensorProto.FLOAT:
            problems.append(_problem(checked, node, "`stash_type` 1", f"{_stash_type(node)}"))
    return Findings(tuple(problems))


def _problem(checked: CheckedModel, node: onnx.NodeProto, expected: str, actual: str) -> Problem:
    what = "a norm overflows in float16"
    return Problem(what, checked.place(node), expected, actual, _FIX)


def _is_square(node: onnx.NodeProto) -> bool:
    # The exponent of a norm is 2; another even power overflows even earlier.
    return node.op_type == "Pow" or (node.op_type == "Mul" and node.input[0] == node.input[1])


def _stash_type(node: onnx.NodeProto) -> int:
    for attribute in node.attribute:
        if attribute.name == "stash_type":
            return int(attribute.i)
    return int(onnx.TensorProto.FLOAT)
