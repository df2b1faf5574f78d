"""`enginewright.rms_norm(x, weight)`: RMS normalisation over the last axis.

Found as the operator RMSNormalization of opset 23, and as what exporters write for
`x / sqrt(mean(x^2) + epsilon)`, statistics in float32, times the weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import onnx_ir as ir
from onnx import NodeProto, TensorProto, helper

from enginewright.passes.operators.operator import (
    DOMAIN,
    OPSET,
    Made,
    Match,
    Operator,
    make_node,
)
from enginewright.passes.pattern import (
    attribute,
    closed,
    inputs,
    integers,
    is_fixed,
    is_op,
    pair,
    producer,
    scalar,
)


@dataclass(frozen=True)
class RmsNorm:
    """A normalisation in a graph."""

    x: ir.Value
    weight: ir.Value
    y: ir.Value
    epsilon: float
    nodes: frozenset[ir.Node]
    last: ir.Node
    """It makes `y`."""


def rms_norms(nodes: Iterable[ir.Node]) -> Iterator[RmsNorm]:
    """Every RMS normalisation whose inner values nothing else uses, in the order of the graph."""
    for node in nodes:
        found = _operator(node) or _written_out(node)
        if found and closed(found.nodes, [found.y]):
            yield found


def _operator(node: ir.Node) -> RmsNorm | None:
    if not is_op(node, "RMSNormalization"):
        return None
    last_axis = attribute(node, "axis", -1) == -1
    in_float32 = attribute(node, "stash_type", TensorProto.FLOAT) == TensorProto.FLOAT
    if not (last_axis and in_float32):
        return None
    epsilon = float(attribute(node, "epsilon", 1e-5))
    x, weight = inputs(node)
    return RmsNorm(x, weight, node.outputs[0], epsilon, frozenset([node]), node)


def _written_out(node: ir.Node) -> RmsNorm | None:
    """From the last multiplication back: weight * cast(x32 * (1 / sqrt(mean(x32^2) + epsilon)))."""
    if not is_op(node, "Mul"):
        return None
    for scaled, weight in pair(node):
        if not is_fixed(weight):
            continue
        nodes = {node}
        back = producer(scaled, "Cast")
        if back is not None:
            nodes.add(back)
            (scaled,) = inputs(back)
        found = _normalised(scaled)
        if not found:
            continue
        x, epsilon, inner = found
        nodes |= inner
        forth = producer(x, "Cast")
        if back is not None and forth is not None:
            if attribute(forth, "to", 0) != TensorProto.FLOAT:
                continue
            (x,) = inputs(forth)
            # Another user may share the widened value; then it stays.
            if closed({forth} | nodes, [node.outputs[0]]):
                nodes.add(forth)
        elif back is not None:
            continue
        return RmsNorm(x, weight, node.outputs[0], epsilon, frozenset(nodes), node)
    return None


Found = tuple[ir.Value, float, set[ir.Node]]
"""x, epsilon, and the nodes."""


def _normalised(value: ir.Value) -> Found | None:
    """`value` as x / sqrt(mean(x^2) + epsilon)."""
    quotient = producer(value, "Div")
    if quotient is not None:
        x, root = inputs(quotient)
        found = _root_mean_square(root)
        if found and found[0] is x:
            return x, found[1], found[2] | {quotient}
    product = producer(value, "Mul")
    if product is None:
        return None
    for x, inverse in pair(product):
        reciprocal = producer(inverse, "Reciprocal")
        if reciprocal is not None:
            root = inputs(reciprocal)[0]
        else:
            reciprocal = producer(inverse, "Div")
            if reciprocal is None or scalar(inputs(reciprocal)[0]) != 1.0:
                continue
            root = inputs(reciprocal)[1]
        found = _root_mean_square(root)
        if found and found[0] is x:
            return x, found[1], found[2] | {product, reciprocal}
    return None


def _root_mean_square(value: ir.Value) -> Found | None:
    """`value` as sqrt(mean(x^2, last axis) + epsilon)."""
    root = producer(value, "Sqrt")
    total = producer(inputs(root)[0], "Add") if root is not None else None
    if root is None or total is None:
        return None
    for mean_value, epsilon_value in pair(total):
        epsilon = scalar(epsilon_value)
        mean = producer(mean_value, "ReduceMean")
        if epsilon is None or mean is None:
            continue
        given = inputs(mean)
        axes = integers(given[1]) if len(given) > 1 else None
        if axes != (-1,) or attribute(mean, "keepdims", 1) != 1:
            continue
        squared = _squared(given[0])
        if squared:
            return squared[0], epsilon, {root, total, mean, squared[1]}
    return None


def _squared(value: ir.Value) -> tuple[ir.Value, ir.Node] | None:
    power = producer(value, "Pow")
    if power is not None and scalar(inputs(power)[1]) == 2.0:
        return inputs(power)[0], power
    product = producer(value, "Mul")
    if product is not None and product.inputs[0] is product.inputs[1]:
        return inputs(product)[0], product
    return None


def _find(nodes: Iterable[ir.Node]) -> list[Match]:
    return [Match(norm.nodes, norm.last, (norm.y,), _maker(norm)) for norm in rms_norms(nodes)]


def _maker(norm: RmsNorm) -> Callable[[Made], tuple[ir.Node, ...]]:
    def make(_: Made) -> tuple[ir.Node, ...]:
        node = make_node(
            "rms_norm",
            [norm.x, norm.weight],
            [str(norm.y.name)],
            name=f"{DOMAIN}/rms_norm/{norm.y.name}",
            domain=DOMAIN,
            epsilon=norm.epsilon,
        )
        return (node,)

    return make


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
