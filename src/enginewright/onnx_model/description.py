"""The record of an ONNX graph, from the graph."""

from __future__ import annotations

from onnx import ModelProto, TensorProto, TensorShapeProto, ValueInfoProto

from enginewright.errors import InputError, Problem
from enginewright.onnx_model.data_type import DATA_TYPES
from enginewright.onnx_model.record import Dim, OnnxRecord, TensorRecord
from enginewright.onnx_model.tensors import external_files


def describe(model: ModelProto) -> OnnxRecord:
    """Raise `InputError` for inputs and outputs that are no tensors (sequences, maps)."""
    provided = {tensor.name for tensor in model.graph.initializer}
    provided.update(sparse.values.name for sparse in model.graph.sparse_initializer)
    return OnnxRecord(
        tuple(_describe(value) for value in model.graph.input if value.name not in provided),
        tuple(_describe(value) for value in model.graph.output),
        {_domain(opset.domain): opset.version for opset in model.opset_import},
        model.ir_version,
        external_files(model),
    )


def _domain(name: str) -> str:
    """The standard operators' domain has two names."""
    return "" if name == "ai.onnx" else name


def _describe(value: ValueInfoProto) -> TensorRecord:
    if not value.type.HasField("tensor_type"):
        kind = value.type.WhichOneof("value") or "no type"
        what = "an input or output of the graph is no tensor"
        raise InputError(Problem(what, f"tensor `{value.name}`", "a tensor", kind))
    tensor = value.type.tensor_type
    shape = tuple(_dim(dim) for dim in tensor.shape.dim)
    if tensor.elem_type == TensorProto.STRING:
        return TensorRecord(value.name, "string", shape)
    if tensor.elem_type not in DATA_TYPES:
        what = "an input or output of the graph has no type"
        raise InputError(Problem(what, f"tensor `{value.name}`", "a type of ONNX"))
    return TensorRecord(value.name, DATA_TYPES[tensor.elem_type].name, shape)


def _dim(dim: TensorShapeProto.Dimension) -> Dim:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    return str(dim.dim_param) or None
