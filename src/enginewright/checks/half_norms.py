"""Norms that square half-precision values.

In float16, from 256 on the square is beyond 65504, the largest number: an RMS norm of 300s gives 0
instead of 1. The squares must be float32, or the norm one of ONNX's own operators with
`stash_type` 1.
"""

from __future__ import annotations

import onnx

from enginewright.checks.exactness import NAMES
from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.flow import is_standard
from enginewright.onnx_model.reader import CheckedModel
from enginewright.onnx_model.tensors import nodes

_NORMS = ("GroupNormalization", "LayerNormalization", "RMSNormalization")
_SUMS = ("ReduceMean", "ReduceSum")
_SQUARE_SUMS = ("ReduceL2", "ReduceSumSquare")
_FIX = "cast to float32 before the norm, or use RMSNormalization or LayerNormalization"


def check_half_norms(checked: CheckedModel) -> Findings:
    """Find each node that adds up half-precision squares, or has half-precision statistics.

    In float16 it fails; in bfloat16, whose range is that of float32, it is a warning.
    """
    squares: dict[str, int] = {}
    findings = []
    for node in nodes(checked.flat.graph):
        for name in node.input[:1]:
            data_type = checked.types.get(name, 0)
            if name in squares and is_standard(node, "Cast"):
                # A cast comes too late: the squares are what they are.
                squares[node.output[0]] = squares[name]
            elif name in squares and is_standard(node, *_SUMS):
                what = f"{NAMES[squares[name]]} squares"
                findings.append(_finding(checked, node, squares[name], "float32 squares", what))
            elif data_type not in NAMES:
                continue
            elif _is_square(node):
                squares[node.output[0]] = data_type
            elif is_standard(node, *_SQUARE_SUMS):
                what = f"a {NAMES[data_type]} input"
                findings.append(_finding(checked, node, data_type, "a float32 input", what))
            elif is_standard(node, *_NORMS) and _stash_type(node) != onnx.TensorProto.FLOAT:
                actual = str(_stash_type(node))
                findings.append(_finding(checked, node, data_type, "`stash_type` 1", actual))
    return Findings.join(findings)


def _finding(
    checked: CheckedModel, node: onnx.NodeProto, data_type: int, expected: str, actual: str
) -> Findings:
    where = checked.place(node)
    if data_type == onnx.TensorProto.FLOAT16:
        problem = Problem("a norm overflows in float16", where, expected, actual, _FIX)
        return Findings((problem,))
    what = "a norm adds up in bfloat16, whose numbers have 8 bits"
    return Findings(warnings=(f"{where}: {what}: {_FIX}",))


def _is_square(node: onnx.NodeProto) -> bool:
    # The exponent of a norm is 2; another even power overflows even earlier.
    return node.op_type == "Pow" or (node.op_type == "Mul" and node.input[0] == node.input[1])


def _stash_type(node: onnx.NodeProto) -> int:
    for attribute in node.attribute:
        if attribute.name == "stash_type":
            return int(attribute.i)
    return int(onnx.TensorProto.FLOAT)
