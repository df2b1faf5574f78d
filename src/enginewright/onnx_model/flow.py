"""Where the numbers of a value come from: back through a graph, into branches and loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, numpy_helper

from enginewright.onnx_model.tensors import graphs, is_external, nodes

STANDARD_DOMAINS = ("", "ai.onnx")

MOVES: Mapping[str, tuple[int, ...] | None] = {
    "Cast": (0,), "CastLike": (0,), "Concat": None, "Expand": (0,), "Flatten": (0,),
    "Gather": (0,), "GatherElements": (0,), "GatherND": (0,), "Identity": (0,), "Reshape": (0,),
    "Slice": (0,), "Split": (0,), "Squeeze": (0,), "Tile": (0,), "Transpose": (0,),
    "Unsqueeze": (0,), "Where": (1, 2),
}  # fmt: skip
"""Operators that pass elements on as they are: the inputs that these come from, None for all."""


def is_standard(node: NodeProto, *op_types: str) -> bool:
    return node.op_type in op_types and node.domain in STANDARD_DOMAINS


@dataclass(frozen=True)
class Flow:
    """Of a graph without functions; names of values are those of all its inner graphs too."""

    graph: GraphProto

    @cached_property
    def producers(self) -> Mapping[str, NodeProto]:
        return {name: node for node in nodes(self.graph) for name in node.output if name}

    @cached_property
    def constants(self) -> Mapping[str, TensorProto]:
        """Initializers and what `Constant` nodes hold, of all graphs; some may be external."""
        found = {tensor.name: tensor for one in graphs(self.graph) for tensor in one.initializer}
        for node in nodes(self.graph):
            if is_standard(node, "Constant"):
                found.update((node.output[0], one.t) for one in node.attribute if one.HasField("t"))
        return found

    def elements(self, name: str) -> NDArray[np.float64] | None:
        """The numbers of a constant, as float64; None where they are not in the graph file."""
        node = self.producers.get(name)
        if node is not None and is_standard(node, "Constant"):
            for one in node.attribute:
                if one.name in ("value_float", "value_floats"):
                    return np.asarray(one.floats or [one.f], np.float64)
                if one.name in ("value_int", "value_ints"):
                    return np.asarray(one.ints or [one.i], np.float64)
        tensor = self.constants.get(name)
        if tensor is None or is_external(tensor) or tensor.data_type == TensorProto.STRING:
            return None
        return numpy_helper.to_array(tensor).astype(np.float64)

    def is_constant(self, name: str) -> bool:
        node = self.producers.get(name)
        return name in self.constants or (node is not None and is_standard(node, "Constant"))

    def moved_from(self, name: str) -> Sequence[str]:
        """The values whose elements `name` consists of; none where a node computes them."""
        node = self.producers.get(name)
        if node is None or node.domain not in STANDARD_DOMAINS:
            return self._outside.get(name, ())
        if node.op_type in ("If", "Loop"):
            return self._inside(node, name)
        places = MOVES.get(node.op_type, ())
        return [
            value for place, value in enumerate(node.input) if places is None or place in places
        ]

    def _inside(self, node: NodeProto, name: str) -> list[str]:
        place = list(node.output).index(name)
        bodies = [one.g for one in node.attribute if one.HasField("g")]
        # The first output of a loop's body says whether it goes on.
        return [body.output[place + (node.op_type == "Loop")].name for body in bodies]

    @cached_property
    def _outside(self) -> Mapping[str, tuple[str, ...]]:
        """What goes into the values that a loop's body carries: from before, and from within."""
        return dict(entry for node in nodes(self.graph) for entry in _carried(node))


def _carried(node: NodeProto) -> Iterator[tuple[str, tuple[str, ...]]]:
    if not is_standard(node, "Loop"):
        return
    body = next(one.g for one in node.attribute if one.name == "body")
    # Inputs of the body are its number, its condition, and what it carries.
    for place, value in enumerate(body.input[2:], 2):
        yield value.name, (node.input[place], body.output[place - 1].name)
