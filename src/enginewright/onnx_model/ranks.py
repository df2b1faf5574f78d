"""Types and ranks of inner values that inference of onnx alone does not find."""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto

from enginewright.onnx_model.external_tensors import without_unread_values

_SHAPE_OPERAND = {"ConstantOfShape": 0, "Reshape": 1}
"""The operand whose number of elements is the rank of the result, by operator."""


def state_ranks(model: ModelProto, stated: Iterable[ValueInfoProto]) -> None:
    """Add to `model` what its file stated of inner values, and the ranks that follow from them.

    Of a stated shape the sizes stay; names of dynamic axes are those of another interface and go.
    """
    made = {name for node in model.graph.node for name in node.output}
    made -= {value.name for value in model.graph.output}
    for value in stated:
        if value.name in made and value.type.HasField("tensor_type"):
            _state(model, value.name, _without_names(value.type))
    while _complete(model):
        pass


def _state(model: ModelProto, name: str, type_: TypeProto) -> None:
    value = model.graph.value_info.add(name=name)
    value.type.CopyFrom(type_)


def _without_names(type_: TypeProto) -> TypeProto:
    copy = TypeProto()
    copy.CopyFrom(type_)
    for dim in copy.tensor_type.shape.dim:
        if dim.dim_param or dim.dim_value < 0:
            dim.Clear()
    return copy


def _complete(model: ModelProto) -> bool:
    """State one round of ranks; whether there were any."""
    inferred = onnx.shape_inference.infer_shapes(without_unread_values(model), data_prop=True).graph
    types = {v.name: v.type for v in (*inferred.value_info, *inferred.input, *inferred.output)}
    lengths = {t.name: t.dims[0] for t in model.graph.initializer if len(t.dims) == 1}
    stated = {value.name for value in model.graph.value_info}
    found = False
    for node in model.graph.node:
        if node.op_type not in _SHAPE_OPERAND or node.output[0] in stated:
            continue
        type_ = types.get(node.output[0])
        rank = _rank(node, types, lengths)
        if type_ is None or type_.tensor_type.HasField("shape") or rank is None:
            continue
        known = onnx.helper.make_tensor_type_proto(type_.tensor_type.elem_type, [None] * rank)
        _state(model, node.output[0], known)
        found = True
    return found


def _rank(node: NodeProto, types: dict[str, TypeProto], lengths: dict[str, int]) -> int | None:
    operand = node.input[_SHAPE_OPERAND[node.op_type]]
    if operand in lengths:
        return lengths[operand]
    dims = list(types[operand].tensor_type.shape.dim) if operand in types else []
    has_length = len(dims) == 1 and dims[0].HasField("dim_value")
    return dims[0].dim_value if has_length else None
