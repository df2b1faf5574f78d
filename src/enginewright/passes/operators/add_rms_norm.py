"""`enginewright.add_rms_norm(x, residual, weight)`: the sum, and its RMS normalisation.

Found as an addition of two tensors of one shape whose sum an `rms_norm` takes. The sum stays an
output: the next residual addition uses it.
"""

from __future__ import annotations

from onnx import helper

from enginewright.passes.graph_index import GraphIndex
from enginewright.passes.operators.operator import DOMAIN, OPSET, Match, Operator
from enginewright.passes.operators.rms_norm import normalise_with_epsilon, rms_norms


def _find(index: GraphIndex) -> list[Match]:
    matches = []
    taken: set[int] = set()
    for norm in rms_norms(index):
        add = index.producer(norm.x, "Add")
        # The new node stands where the sum was made, so that whatever uses the sum comes after it.
        if add is None or add in taken or not index.is_fixed(norm.weight):
            continue
        left, right = index.nodes[add].input
        if not index.same_shape(left, right):
            continue
        taken.add(add)
        node = helper.make_node(
            "add_rms_norm",
            [left, right, norm.weight],
            [norm.y, norm.x],
            name=f"{DOMAIN}/add_rms_norm/{norm.y}",
            domain=DOMAIN,
            epsilon=norm.epsilon,
        )
        matches.append(Match(norm.places | {add}, add, (node,)))
    return matches


OPERATOR = Operator(
    "add_rms_norm",
    helper.make_function(
        DOMAIN,
        "add_rms_norm",
        ["x", "residual", "weight"],
        ["y", "sum"],
        [
            helper.make_node("Add", ["x", "residual"], ["sum"]),
            *normalise_with_epsilon("sum", "weight", "y"),
        ],
        [helper.make_opsetid("", OPSET)],
        attributes=["epsilon"],
    ),
    _find,
)
