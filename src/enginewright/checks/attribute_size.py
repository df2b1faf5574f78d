"""Tensors in attributes of nodes: they stay in the graph file, whose limit is 2 GiB."""

from __future__ import annotations

from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.reader import MAX_PROTO_BYTES, CheckedModel
from enginewright.onnx_model.tensors import all_tensors

LARGE_BYTES = 2**20
_FIX = "turn the attributes into initializers, which can be external data"


def check_attribute_size(checked: CheckedModel, limit: int = MAX_PROTO_BYTES) -> Findings:
    """Fail when attributes alone fill half of `limit` (bytes); warn about each above 1 MiB."""
    total = 0
    warnings = []
    for held in all_tensors(checked.model):
        if held.node is None or held.is_external:
            continue
        size = held.tensor.ByteSize()
        total += size
        if size > LARGE_BYTES:
            warnings.append(
                f"{checked.place(held.node)} holds {size} bytes in an attribute, which count "
                f"towards the graph file's limit of {limit} bytes; {_FIX}"
            )
    problems = []
    if total > limit // 2:
        expected = f"at most {limit // 2} bytes, half of what a graph file can hold"
        what = "tensors in attributes fill the graph file"
        problems.append(Problem(what, checked.where, expected, f"{total} bytes", _FIX))
    return Findings(tuple(problems), tuple(warnings))
