"""`enginewright.swiglu(gate, up)`: gate * sigmoid(gate) * up."""

from __future__ import annotations

from onnx import helper

from enginewright.passes.graph_index import GraphIndex
from enginewright.passes.operators.operator import DOMAIN, OPSET, Match, Operator


def _find(index: GraphIndex) -> list[Match]:
    matches = []
    taken: set[int] = set()
    for place in range(len(index.nodes)):
        if not index.is_op(place, "Mul"):
            continue
        node = index.nodes[place]
        for activated, up in (tuple(node.input), tuple(reversed(node.input))):
            silu = _silu(index, activated)
            if silu is None or not index.same_shape(silu[0], up):
                continue
            places = silu[1] | {place}
            if places & taken or not index.closed(places, node.output):
                continue
            taken |= places
            made = helper.make_node(
                "swiglu",
                [silu[0], up],
                list(node.output),
                name=f"{DOMAIN}/swiglu/{node.output[0]}",
                domain=DOMAIN,
            )
            matches.append(Match(frozenset(places), place, (made,)))
            break
    return matches


def _silu(index: GraphIndex, value: str) -> tuple[str, set[int]] | None:
    """`value` as gate * sigmoid(gate): the gate, and the places of the nodes."""
    swish = index.producer(value, "Swish")
    if swish is not None and not index.nodes[swish].attribute:
        return index.nodes[swish].input[0], {swish}
    product = index.producer(value, "Mul")
    if product is None:
        return None
    left, right = index.nodes[product].input
    for gate, share in ((left, right), (right, left)):
        sigmoid = index.producer(share, "Sigmoid")
        if sigmoid is not None and index.nodes[sigmoid].input[0] == gate:
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
