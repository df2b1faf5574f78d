"""Tensors in attributes of nodes: they stay in the graph file, whose limit is 2 GiB."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.external_tensors import is_external
from enginewright.onnx_model.reader import MAX_PROTO_BYTES, CheckedModel, nodes

LARGE_BYTES = 2**20
_FIX = "turn the attributes into initializers, which can be external data"


def check_attribute_size(checked: CheckedModel, limit: int = MAX_PROTO_BYTES) -> Findings:
    """Fail when attributes alone fill half of `limit` (bytes); warn about each above 1 MiB."""
    total = 0
    warnings = []
    for node, tensor in _attribute_tensors(checked.model):
        size = tensor.ByteSize()
        total += size
        if size > LARGE_BYTES:
            warnings.append(
                f"{checked.place(node)} holds {size} bytes in an attribute, which count towards "
                f"the graph file's limit of {limit} bytes; {_FIX}"
            )
    problems = []
    if total > limit // 2:
        expected = f"at most {limit // 2} bytes, half of what a graph file can hold"
        what = "tensors in attributes fill the graph file"
        problems.append(Problem(what, checked.where, expected, f"{total} bytes", _FIX))
    return Findings(tuple(problems), tuple(warnings))


def _attribute_tensors(
    model: onnx.ModelProto,
) -> Iterator[tuple[onnx.NodeProto, onnx.TensorProto]]:
    inner = [node for function in model.functions for node in function.node]
    for node in [*nodes(model.graph), *inner]:
        for attribute in node.attribute:
            candidates = [attribute.t] if attribute.HasField("t") else list(attribute.tensors)
            for tensor in candidates:
                if not is_external(tensor):
                    yield node, tensor
