"""`enginewright.rms_norm(x, weight)`: RMS normalisation over the last axis.

Found as the operator RMSNormalization of opset 23, and as what exporters write for
`x / sqrt(mean(x^2) + epsilon)`, statistics in float32, times the weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onnx import NodeProto, TensorProto, helper

from enginewright.passes.graph_index import GraphIndex, attribute
from enginewright.passes.operators.operator import DOMAIN, OPSET, Match, Operator


@dataclass(frozen=True)
class RmsNorm:
    """A normalisation in a graph."""

    x: str
    weight: str
    y: str
    epsilon: float
    places: frozenset[int]
    """Of its nodes."""
    last: int
    """Place of the node that makes `y`."""


def rms_norms(index: GraphIndex) -> Iterator[RmsNorm]:
    """Every RMS normalisation whose inner values nothing else uses, in the order of the graph."""
    for place in range(len(index.nodes)):
        found = _operator(index, place) or _written_out(index, place)
        if found and index.closed(found.places, [found.y]):
            yield found


def _operator(index: GraphIndex, place: int) -> RmsNorm | None:
    node = index.nodes[place]
    if not index.is_op(place, "RMSNormalization"):
        return None
    last_axis = attribute(node, "axis", -1) == -1
    in_float32 = attribute(node, "stash_type", TensorProto.FLOAT) == TensorProto.FLOAT
    if not (last_axis and in_float32):
        return None
    epsilon = attribute(node, "epsilon", 1e-5)
    assert isinstance(epsilon, float)
    return RmsNorm(node.input[0], node.input[1], node.output[0], epsilon, frozenset([place]), place)


def _written_out(index: GraphIndex, place: int) -> RmsNorm | None:
    """From the last multiplication back: weight * cast(x32 * (1 / sqrt(mean(x32^2) + epsilon)))."""
    if not index.is_op(place, "Mul"):
        return None
    node = index.nodes[place]
    for scaled, weight in (tuple(node.input), tuple(reversed(node.input))):
        if not index.is_fixed(weight):
            continue
        places = {place}
        back = index.producer(scaled, "Cast")
        if back is not None:
            places.add(back)
            scaled = index.nodes[back].input[0]
        found = _normalised(index, scaled)
        if not found:
            continue
        x, epsilon, inner = found
        places |= inner
        forth = index.producer(x, "Cast")
        if back is not None and forth is not None:
            if attribute(index.nodes[forth], "to", 0) != TensorProto.FLOAT:
                continue
            x = index.nodes[forth].input[0]
            # Another user may share the widened value; then it stays.
            if index.closed({forth} | places, [node.output[0]]):
                places.add(forth)
        elif back is not None:
            continue
        return RmsNorm(x, weight, node.output[0], epsilon, frozenset(places), place)
    return None


def _normalised(index: GraphIndex, value: str) -> tuple[str, float, set[int]] | None:
    """`value` as x / sqrt(mean(x^2) + epsilon): x, epsilon and the places of the nodes."""
    place = index.producer(value, "Div")
    if place is not None:
        x, root = index.nodes[place].input
        found = _root_mean_square(index, root)
        if found and found[0] == x:
            return x, found[1], found[2] | {place}
    place = index.producer(value, "Mul")
    if place is None:
        return None
    left, right = index.nodes[place].input
    for x, inverse in ((left, right), (right, left)):
        reciprocal = index.producer(inverse, "Reciprocal")
        if reciprocal is not None:
            root = index.nodes[reciprocal].input[0]
        else:
            reciprocal = index.producer(inverse, "Div")
            if reciprocal is None or index.scalar(index.nodes[reciprocal].input[0]) != 1.0:
                continue
            root = index.nodes[reciprocal].input[1]
        found = _root_mean_square(index, root)
        if found and found[0] == x:
            return x, found[1], found[2] | {place, reciprocal}
    return None


def _root_mean_square(index: GraphIndex, value: str) -> tuple[str, float, set[int]] | None:
    """`value` as sqrt(mean(x^2, last axis) + epsilon)."""
    root = index.producer(value, "Sqrt")
    total = index.producer(index.nodes[root].input[0], "Add") if root is not None else None
    if root is None or total is None:
        return None
    left, right = index.nodes[total].input
    for mean_value, epsilon_value in ((left, right), (right, left)):
        epsilon = index.scalar(epsilon_value)
        mean = index.producer(mean_value, "ReduceMean")
        if epsilon is None or mean is None:
            continue
        inputs = index.nodes[mean].input
        axes = index.integers(inputs[1]) if len(inputs) > 1 else None
        if axes != (-1,) or attribute(index.nodes[mean], "keepdims", 1) != 1:
            continue
        squared = _squared(index, inputs[0])
        if squared:
            return squared[0], epsilon, {root, total, mean, squared[1]}
    return None


def _squared(index: GraphIndex, value: str) -> tuple[str, int] | None:
    power = index.producer(value, "Pow")
    if power is not None and index.scalar(index.nodes[power].input[1]) == 2.0:
        return index.nodes[power].input[0], power
    product = index.producer(value, "Mul")
    if product is not None and index.nodes[product].input[0] == index.nodes[product].input[1]:
        return index.nodes[product].input[0], product
    return None


def _find(index: GraphIndex) -> list[Match]:
    return [
        Match(
            norm.places,
            norm.last,
            (
                helper.make_node(
                    "rms_norm",
                    [norm.x, norm.weight],
                    [norm.y],
                    name=f"{DOMAIN}/rms_norm/{norm.y}",
                    domain=DOMAIN,
                    epsilon=norm.epsilon,
                ),
            ),
        )
        for norm in rms_norms(index)
    ]


def normalise_with_epsilon(x: str, weight: str, y: str) -> list[NodeProto]:
    """The body of a function that normalises, with the function's attribute `epsilon`."""
    node = helper.make_node("RMSNormalization", [x, weight], [y], axis=-1, stash_type=1)
    epsilon = node.attribute.add()
    epsilon.name, epsilon.ref_attr_name = "epsilon", "epsilon"
    epsilon.type = epsilon.FLOAT
    return [node]


OPERATOR = Operator(
    "rms_norm",
    helper.make_function(
        DOMAIN,
        "rms_norm",
        ["x", "weight"],
        ["y"],
        normalise_with_epsilon("x", "weight", "y"),
        [helper.make_opsetid("", OPSET)],
        attributes=["epsilon"],
    ),
    _find,
)
