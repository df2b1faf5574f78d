"""What patterns ask about the nodes and values of a graph."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import onnx_ir as ir

SMALL = 16
"""Larger constants are weights; patterns look at axes, exponents and epsilons only."""
STANDARD_DOMAINS = ("", "ai.onnx")


def is_op(node: ir.Node, *op_types: str) -> bool:
    return node.op_type in op_types and node.domain in STANDARD_DOMAINS


def producer(value: ir.Value | None, *op_types: str) -> ir.Node | None:
    """The node that makes `value`; None where none does, or one of another type."""
    node = None if value is None else value.producer()
    if node is None or (op_types and not is_op(node, *op_types)):
        return None
    return node


def inputs(node: ir.Node) -> tuple[ir.Value, ...]:
    """Without those that are left out."""
    return tuple(value for value in node.inputs if value is not None)


def pair(node: ir.Node) -> tuple[tuple[ir.Value, ir.Value], ...]:
    """The two inputs of a commutative operation, in both orders; nothing where it has others."""
    given = inputs(node)
    if len(given) != 2:
        return ()
    return ((given[0], given[1]), (given[1], given[0]))


def attribute(node: ir.Node, name: str, default: Any) -> Any:
    """Value of an attribute, or `default` where the node has none."""
    found = node.attributes.get(name)
    return default if found is None else found.value


def is_fixed(value: ir.Value) -> bool:
    """There from the start: an initializer or an input of the graph."""
    return value.is_initializer() or value.is_graph_input()


def constant(value: ir.Value | None) -> np.ndarray | None:
    """The elements of a small constant; None for anything else."""
    if value is None:
        return None
    node = producer(value, "Constant")
    tensor = value.const_value if node is None else attribute(node, "value", None)
    if tensor is None or isinstance(tensor, ir.ExternalTensor) or tensor.size > SMALL:
        return None
    return np.asarray(tensor.numpy())


def scalar(value: ir.Value | None) -> float | None:
    """The number in a constant of one element."""
    array = constant(value)
    return float(array.reshape(())) if array is not None and array.size == 1 else None


def integers(value: ir.Value | None) -> tuple[int, ...] | None:
    array = constant(value)
    return tuple(int(number) for number in array.ravel()) if array is not None else None


def shape(value: ir.Value) -> tuple[int | str, ...] | None:
    """As far as it is known: a number or a name for each axis, `""` for an unknown one."""
    if value.shape is None:
        return None
    return tuple(dim if isinstance(dim, int) else dim.value or "" for dim in value.shape)


def same_shape(left: ir.Value, right: ir.Value) -> bool:
    """Both are known to have one shape, so that an operation of them does not broadcast."""
    shapes = shape(left), shape(right)
    return shapes[0] is not None and shapes[0] == shapes[1] and "" not in shapes[0]


def closed(nodes: Collection[ir.Node], outputs: Collection[ir.Value]) -> bool:
    """Nothing outside `nodes` uses a value that they make, but for `outputs`.

    Nodes of inner graphs are outside; so are the outputs of any graph.
    """
    for node in nodes:
        for value in node.outputs:
            if any(value is kept for kept in outputs):
                continue
            if value.is_graph_output() or any(use.node not in nodes for use in value.uses()):
                return False
    return True
