"""Who makes and who uses each value of an ONNX graph, for finding subgraphs by structure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx
from onnx import (
    AttributeProto,
    GraphProto,
    NodeProto,
    ValueInfoProto,
    numpy_helper,
)

from enginewright.onnx_model.tensors import is_external

# Larger constants are weights; patterns look at axes, exponents and epsilons only.
_SMALL = 16


class GraphIndex:
    """A view of the top level of a graph; nodes are told apart by their place in it."""

    def __init__(self, graph: GraphProto, described: Iterable[ValueInfoProto] = ()) -> None:
        """`described` adds shapes of inner values to those that the graph states."""
        self.graph = graph
        self.nodes = list(graph.node)
        self._producer = {
            name: place for place, node in enumerate(self.nodes) for name in node.output if name
        }
        self._users: dict[str, list[int]] = {}
        self.needed = {output.name for output in graph.output}
        """Values that must stay: outputs of the graph, and what inner graphs use."""
        for place, node in enumerate(self.nodes):
            for name in node.input:
                self._users.setdefault(name, []).append(place)
            for attribute in node.attribute:
                self.needed.update(_names_in(attribute))
        self._initializers = {tensor.name: tensor for tensor in graph.initializer}
        self._inputs = {value.name for value in graph.input}
        self._shapes = {
            value.name: _shape(value)
            for value in (*described, *graph.value_info, *graph.input, *graph.output)
        }
        self._shapes |= {name: tuple(tensor.dims) for name, tensor in self._initializers.items()}

    def producer(self, value: str, op_type: str = "") -> int | None:
        """Place of the node that makes `value`; None where none does, or one of another type."""
        place = self._producer.get(value)
        if place is None or (op_type and not self.is_op(place, op_type)):
            return None
        return place

    def is_op(self, place: int, op_type: str) -> bool:
        node = self.nodes[place]
        return node.op_type == op_type and node.domain in ("", "ai.onnx")

    def users(self, value: str) -> list[int]:
        return self._users.get(value, [])

    def is_fixed(self, value: str) -> bool:
        """There from the start: an initializer or an input of the graph."""
        return value in self._initializers or value in self._inputs

    def constant(self, value: str) -> np.ndarray | None:
        """The elements of a small constant; None for anything else."""
        tensor = self._initializers.get(value)
        place = self._producer.get(value)
        if tensor is None and place is not None and self.is_op(place, "Constant"):
            tensor = attribute(self.nodes[place], "value", None)
        if tensor is None or is_external(tensor):
            return None
        if int(np.prod(tensor.dims, initial=1)) > _SMALL:
            return None
        return numpy_helper.to_array(tensor)

    def scalar(self, value: str) -> float | None:
        """The number in a constant of one element."""
        array = self.constant(value)
        return float(array.reshape(())) if array is not None and array.size == 1 else None

    def integers(self, value: str) -> tuple[int, ...] | None:
        array = self.constant(value)
        return tuple(int(number) for number in array.ravel()) if array is not None else None

    def shape(self, value: str) -> tuple[int | str, ...] | None:
        """As far as the graph says: a number or a name for each axis, `""` for an unknown one."""
        return self._shapes.get(value)

    def same_shape(self, left: str, right: str) -> bool:
        """Both are known to have one shape, so that an operation of them does not broadcast."""
        shapes = self.shape(left), self.shape(right)
        return shapes[0] is not None and shapes[0] == shapes[1] and "" not in shapes[0]

    def closed(self, places: Iterable[int], outputs: Iterable[str]) -> bool:
        """Nothing outside `places` uses a value that they make, but for `outputs`."""
        inside, kept = set(places), set(outputs)
        for place in inside:
            for name in self.nodes[place].output:
                if name in kept or not name:
                    continue
                if name in self.needed or not inside.issuperset(self.users(name)):
                    return False
        return True


def attribute(node: NodeProto, name: str, default: object) -> object:
    """Value of an attribute, or `default` where the node has none."""
    for one in node.attribute:
        if one.name == name:
            return onnx.helper.get_attribute_value(one)
    return default


def _names_in(attribute: AttributeProto) -> set[str]:
    graphs = [attribute.g] if attribute.type == AttributeProto.GRAPH else list(attribute.graphs)
    names: set[str] = set()
    for graph in graphs:
        names.update(output.name for output in graph.output)
        for node in graph.node:
            names.update(node.input)
            for inner in node.attribute:
                names |= _names_in(inner)
    return names


def _shape(value: ValueInfoProto) -> tuple[int | str, ...] | None:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(
        axis.dim_value if axis.HasField("dim_value") else axis.dim_param
        for axis in tensor.shape.dim
    )
