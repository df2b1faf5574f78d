"""Models whose bytes lie in other files, for tools of onnx that would open those files."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper

from enginewright.onnx_model.tensors import all_tensors, graphs, is_external

_PLACEHOLDER = "data"


def find_invalidity(model: ModelProto) -> str:
    """What onnx' checker says against the model, in one line; empty where it is valid.

    The data files need not be there: the checker asks only whether they exist, so it gets one empty
    file for all of them.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    for held in all_tensors(copy):
        if held.is_external:
            del held.tensor.external_data[:]
            held.tensor.external_data.add(key="location", value=_PLACEHOLDER)
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / _PLACEHOLDER).touch()
        (folder / "model.onnx").write_bytes(copy.SerializeToString())
        try:
            onnx.checker.check_model(str(folder / "model.onnx"))
        # Of a sparse tensor it reads the places, which may be external too.
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            return first_lines(error)
    return ""


def first_lines(error: Exception) -> str:
    """The message of an error of onnx in one line of 500 characters at most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines)[:500]


def without_unread_values(model: ModelProto) -> ModelProto:
    """A copy for type inference: what it cannot read becomes an input of the main graph.

    That is each external initializer and `Constant`, of all graphs but not of functions, and each
    sparse initializer, which inference does not know. A model without any is returned as it is.
    """
    if not any(map(_has_unread_values, graphs(model.graph))):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    known = {value.name for value in copy.graph.input}
    for graph in list(graphs(copy.graph)):
        for name, data_type, shape in _take_unread_values(graph):
            if name not in known:
                known.add(name)
                copy.graph.input.append(helper.make_tensor_value_info(name, data_type, shape))
    return copy


def external_constant(node: NodeProto) -> TensorProto | None:
    """The tensor of a `Constant` whose bytes lie in another file."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
        return None
    return next((one.t for one in node.attribute if one.HasField("t") and is_external(one.t)), None)


def _has_unread_values(graph: GraphProto) -> bool:
    return (
        bool(graph.sparse_initializer)
        or any(map(is_external, graph.initializer))
        or any(external_constant(node) is not None for node in graph.node)
    )


def _take_unread_values(graph: GraphProto) -> list[tuple[str, int, list[int]]]:
    """Remove them from `graph`; their names, types and shapes."""
    taken: list[tuple[str, int, list[int]]] = []
    for index in reversed(range(len(graph.initializer))):
        tensor = graph.initializer[index]
        if is_external(tensor):
            taken.append((tensor.name, tensor.data_type, list(tensor.dims)))
            del graph.initializer[index]
    for sparse in graph.sparse_initializer:
        taken.append((sparse.values.name, sparse.values.data_type, list(sparse.dims)))
    del graph.sparse_initializer[:]
    for index in reversed(range(len(graph.node))):
        tensor_of_node = external_constant(graph.node[index])
        if tensor_of_node is not None:
            shape = list(tensor_of_node.dims)
            taken.append((graph.node[index].output[0], tensor_of_node.data_type, shape))
            del graph.node[index]
    return taken
