"""Every tensor that an ONNX model holds, wherever it stands.

A tensor can be an initializer, dense or sparse, or stand in an attribute; graphs stand in
attributes too, and functions hold nodes of their own. Whoever asks for "all tensors" asks here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto


@dataclass(frozen=True)
class HeldTensor:
    tensor: TensorProto
    """Of the model itself: changing it changes the model."""
    name: str
    """Its own, or where it stands: an attribute's tensor needs no name."""
    node: NodeProto | None = None
    """Whose attribute holds it; None for initializers."""
    is_top: bool = False
    """An initializer of the main graph."""

    @property
    def place(self) -> str:
        """For a message."""
        return f"tensor `{self.name}`" if self.tensor.name else f"tensor of {self.name}"

    @property
    def is_external(self) -> bool:
        return is_external(self.tensor)


def is_external(tensor: TensorProto) -> bool:
    """Whether its bytes lie in another file."""
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def all_tensors(model: ModelProto) -> Iterator[HeldTensor]:
    """Main graph first: its initializers, then what its nodes hold; then each function's nodes."""
    yield from _of_graph(model.graph, is_top=True)
    for function in model.functions:
        for attribute in function.attribute_proto:
            for tensor in _of_attribute(attribute):
                yield HeldTensor(tensor, f"attribute `{attribute.name}` of `{function.name}`")
        yield from _of_nodes(function.node)
    for training in model.training_info:
        yield from _of_graph(training.initialization)
        yield from _of_graph(training.algorithm)


def all_nodes(model: ModelProto) -> Iterator[NodeProto]:
    """The nodes of all graphs and functions."""
    yield from nodes(model.graph)
    for function in model.functions:
        yield from function.node
        yield from chain.from_iterable(nodes(inner) for inner in _inner_graphs(function.node))


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all graphs inside it."""
    yield graph
    for inner in _inner_graphs(graph.node):
        yield from graphs(inner)


def nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """The nodes of a graph, each before those of the graphs inside it."""
    for node in graph.node:
        yield node
        for inner in _inner_graphs([node]):
            yield from nodes(inner)


def external_files(model: ModelProto) -> tuple[str, ...]:
    """Names of the files that tensors of the model lie in, sorted."""
    return tuple(
        sorted(
            {
                entry.value
                for held in all_tensors(model)
                if held.is_external
                for entry in held.tensor.external_data
                if entry.key == "location"
            }
        )
    )


def _inner_graphs(of: Iterable[NodeProto]) -> Iterator[GraphProto]:
    for node in of:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH or attribute.HasField("g"):
                yield attribute.g
            yield from attribute.graphs


def _of_graph(graph: GraphProto, *, is_top: bool = False) -> Iterator[HeldTensor]:
    for tensor in graph.initializer:
        yield HeldTensor(tensor, tensor.name, is_top=is_top)
    for sparse in graph.sparse_initializer:
        yield HeldTensor(sparse.values, sparse.values.name)
        yield HeldTensor(sparse.indices, f"{sparse.values.name}, indices")
    yield from _of_nodes(graph.node)


def _of_nodes(of: Iterable[NodeProto]) -> Iterator[HeldTensor]:
    for node in of:
        label = node.name or ", ".join(node.output) or node.op_type
        for attribute in node.attribute:
            for tensor in _of_attribute(attribute):
                name = tensor.name or f"attribute `{attribute.name}` of node `{label}`"
                yield HeldTensor(tensor, name, node)
        for inner in _inner_graphs([node]):
            yield from _of_graph(inner)


def _of_attribute(attribute: AttributeProto) -> Iterator[TensorProto]:
    if attribute.HasField("t"):
        yield attribute.t
    yield from attribute.tensors
    sparse = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
    for one in (*sparse, *attribute.sparse_tensors):
        yield one.values
        yield one.indices
