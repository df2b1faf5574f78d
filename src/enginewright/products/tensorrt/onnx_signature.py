"""Inputs and outputs of an ONNX file, read from its bytes with the standard library only.

The builder's environment has no onnx package, and the builder's own parser forgets the names of
output axes. This reads just the fields that name and shape the graph's inputs and outputs; weights
are skipped, not read. Field numbers: onnx.proto of ONNX 1.23 (ModelProto, GraphProto,
ValueInfoProto, TypeProto, TensorShapeProto, TensorProto); encoding: protobuf.dev, "Encoding".
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from enginewright.errors import InputError, Problem

Dim = int | str | None
"""Size, name of a dynamic axis, or `None` where the file says nothing."""

_MODEL_GRAPH = 7
_GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT = 5, 11, 12
_TENSOR_NAME = 8
_VALUE_NAME, _VALUE_TYPE = 1, 2
_TYPE_TENSOR, _TENSOR_SHAPE, _SHAPE_DIM = 1, 2, 1
_DIM_VALUE, _DIM_PARAM = 1, 2


@dataclass(frozen=True)
class TensorSignature:
    name: str
    shape: tuple[Dim, ...]


@dataclass(frozen=True)
class OnnxSignature:
    inputs: tuple[TensorSignature, ...]
    """Graph inputs that the user feeds: without those that an initializer provides."""
    outputs: tuple[TensorSignature, ...]

    @classmethod
    def read(cls, path: Path) -> OnnxSignature:
        """Raise `InputError` when the file is not an ONNX model with a graph."""
        try:
            with (
                path.open("rb") as stream,
                mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
            ):
                signature = _read_model(data)
        except (ValueError, IndexError, UnicodeDecodeError) as error:
            raise InputError(
                Problem("not an ONNX model", str(path), "an ONNX protobuf file", str(error))
            ) from error
        if not signature.outputs:
            raise InputError(Problem("ONNX model has no graph outputs", str(path)))
        return signature


Field = tuple[int, int, int]
"""Field number, and begin and end of its bytes; for a varint, its value twice."""


def _varint(data: mmap.mmap, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
        if shift > 63:
            raise ValueError(f"number at byte {position} is too long")


def _fields(data: mmap.mmap, position: int, end: int) -> Iterator[Field]:
    while position < end:
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, position = _varint(data, position)
            yield number, value, value
            continue
        if wire_type == 2:
            length, position = _varint(data, position)
        elif wire_type in (1, 5):
            length = 8 if wire_type == 1 else 4
        else:
            raise ValueError(f"unknown wire type {wire_type} before byte {position}")
        if position + length > end:
            raise ValueError(f"field {number} ends at byte {position + length}, after byte {end}")
        yield number, position, position + length
        position += length


def _read_model(data: mmap.mmap) -> OnnxSignature:
    inputs: list[TensorSignature] = []
    outputs: list[TensorSignature] = []
    initializers: set[str] = set()
    for number, begin, end in _fields(data, 0, len(data)):
        if number != _MODEL_GRAPH:
            continue
        for graph_number, first, last in _fields(data, begin, end):
            if graph_number == _GRAPH_INPUT:
                inputs.append(_read_value(data, first, last))
            elif graph_number == _GRAPH_OUTPUT:
                outputs.append(_read_value(data, first, last))
            elif graph_number == _GRAPH_INITIALIZER:
                initializers.update(_texts(data, first, last, _TENSOR_NAME))
    return OnnxSignature(
        tuple(value for value in inputs if value.name not in initializers), tuple(outputs)
    )


def _texts(data: mmap.mmap, begin: int, end: int, wanted: int) -> Iterator[str]:
    for number, first, last in _fields(data, begin, end):
        if number == wanted:
            yield data[first:last].decode("utf-8")


def _children(data: mmap.mmap, begin: int, end: int, *path: int) -> Iterator[tuple[int, int]]:
    """Ranges of the submessages that are reached through the field numbers of `path`."""
    if not path:
        yield begin, end
        return
    for number, first, last in _fields(data, begin, end):
        if number == path[0]:
            yield from _children(data, first, last, *path[1:])


def _read_value(data: mmap.mmap, begin: int, end: int) -> TensorSignature:
    name = next(_texts(data, begin, end, _VALUE_NAME), "")
    dims = _children(data, begin, end, _VALUE_TYPE, _TYPE_TENSOR, _TENSOR_SHAPE, _SHAPE_DIM)
    return TensorSignature(name, tuple(_read_dim(data, first, last) for first, last in dims))


def _read_dim(data: mmap.mmap, begin: int, end: int) -> Dim:
    dim: Dim = None
    for number, first, last in _fields(data, begin, end):
        if number == _DIM_VALUE:
            dim = first
        elif number == _DIM_PARAM:
            dim = data[first:last].decode("utf-8") or None
    return dim
