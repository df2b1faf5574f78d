"""`enginewright.swiglu(gate, up)`: gate * sigmoid(gate) * up."""

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
from enginewright.passes.pattern import closed, inputs, is_op, pair, producer, same_shape


def _find(nodes: Iterable[ir.Node]) -> list[Match]:
    matches = []
    taken: set[ir.Node] = set()
    for node in nodes:
        if not is_op(node, "Mul"):
            continue
        for activated, up in pair(node):
            silu = _silu(activated)
            if silu is None or not same_shape(silu[0], up):
                continue
            found = silu[1] | {node}
            if found & taken or not closed(found, node.outputs):
                continue
            taken |= found
            maker = _maker(silu[0], up, node)
            matches.append(Match(frozenset(found), node, tuple(node.outputs), maker))
            break
    return matches


def _maker(gate: ir.Value, up: ir.Value, node: ir.Node) -> Callable[[Made], tuple[ir.Node, ...]]:
    def make(_: Made) -> tuple[ir.Node, ...]:
        output = str(node.outputs[0].name)
        made = make_node(
            "swiglu", [gate, up], [output], name=f"{DOMAIN}/swiglu/{output}", domain=DOMAIN
        )
        return (made,)

    return make


def _silu(value: ir.Value) -> tuple[ir.Value, set[ir.Node]] | None:
    """`value` as gate * sigmoid(gate): the gate, and the nodes."""
    swish = producer(value, "Swish")
    if swish is not None and not swish.attributes:
        return inputs(swish)[0], {swish}
    product = producer(value, "Mul")
    if product is None:
        return None
    for gate, share in pair(product):
        sigmoid = producer(share, "Sigmoid")
        if sigmoid is not None and sigmoid.inputs[0] is gate:
            return gate, {product, sigmoid}
    return None


OPERATOR = Operator(
    "swiglu",
    helper.make_function(
        DOMAIN,
        "swiglu",
        ["gate", "up"],
        ["y"],
        [
            helper.make_node("Sigmoid", ["gate"], ["share"]),
            helper.make_node("Mul", ["gate", "share"], ["activated"]),
            helper.make_node("Mul", ["activated", "up"], ["y"]),
        ],
        [helper.make_opsetid("", OPSET)],
    ),
    _find,
)
