"""`enginewright.add_rms_norm(x, residual, weight)`: the sum, and its RMS normalisation.

Found as an addition of two tensors of one shape whose sum an `rms_norm` takes. The sum stays an
output: the next residual addition uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import onnx_ir as ir
from onnx import helper

from enginewright.passes.operators.operator import (
    DOMAIN,
    OPSET,
    Made,
    Match,
    Operator,
    make_node,
)
from enginewright.passes.operators.rms_norm import RmsNorm, normalise_with_epsilon, rms_norms
from enginewright.passes.pattern import inputs, is_fixed, producer, same_shape


def _find(nodes: Iterable[ir.Node]) -> list[Match]:
    matches = []
    taken: set[ir.Node] = set()
    for norm in rms_norms(nodes):
        add = producer(norm.x, "Add")
        # The new node stands where the sum was made, so that whatever uses the sum comes after it.
        if add is None or add in taken or not is_fixed(norm.weight):
            continue
        if not same_shape(*inputs(add)):
            continue
        taken.add(add)
        matches.append(Match(norm.nodes | {add}, add, (norm.y, norm.x), _maker(norm, add)))
    return matches


def _maker(norm: RmsNorm, add: ir.Node) -> Callable[[Made], tuple[ir.Node, ...]]:
    def make(_: Made) -> tuple[ir.Node, ...]:
        node = make_node(
            "add_rms_norm",
            [*inputs(add), norm.weight],
            [str(norm.y.name), str(norm.x.name)],
            name=f"{DOMAIN}/add_rms_norm/{norm.y.name}",
            domain=DOMAIN,
            epsilon=norm.epsilon,
        )
        return (node,)

    return make


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
