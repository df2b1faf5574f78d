"""Reads an ONNX graph, and prepares it for the checks: no weights are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import onnx
import onnx.inliner
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from enginewright.errors import InputError, Problem
from enginewright.onnx_model.data_type import DATA_TYPES
from enginewright.onnx_model.external_tensors import without_unread_values
from enginewright.onnx_model.tensors import all_tensors, graphs, nodes

LFS_PREFIX = b"version https://git-lfs"
MAX_PROTO_BYTES = 2**31 - 1
"""Protobuf reads no longer message."""
_FILLS_ITS_OUTPUT = ("Constant", "ConstantOfShape")
"""Operators whose output consists of the tensor in their attribute."""


@dataclass(frozen=True)
class Constant:
    """A tensor whose values stand in the graph itself."""

    name: str
    """Of the value in the graph; of a tensor that is no value, its own or its node's."""
    tensor: onnx.TensorProto


@dataclass(frozen=True)
class CheckedModel:
    model: onnx.ModelProto
    """As it was read."""
    where: str
    """Names the file in messages."""

    @cached_property
    def flat(self) -> onnx.ModelProto:
        """Model-local functions inlined; external and sparse constants turned into inputs."""
        model = self.model
        inlined = onnx.inliner.inline_local_functions(model) if model.functions else model
        return without_unread_values(inlined)

    @cached_property
    def types(self) -> Mapping[str, int]:
        """Element type of each value of all graphs that shape inference could find."""
        try:
            inferred = onnx.shape_inference.infer_shapes(self.flat, data_prop=True).graph
        except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
            inferred = self.flat.graph
        types: dict[str, int] = {}
        for graph in graphs(inferred):
            values = [*graph.value_info, *graph.input, *graph.output]
            types.update((value.name, value.type.tensor_type.elem_type) for value in values)
            types.update((tensor.name, tensor.data_type) for tensor in graph.initializer)
        return types

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """All tensors of the flat model whose bytes are in the graph, and numbers of `Constant`."""
        return tuple(_constants(self.flat))

    @cached_property
    def consumers(self) -> Mapping[str, list[tuple[onnx.NodeProto, int]]]:
        """The nodes that read each value, and as which of their inputs."""
        consumers: dict[str, list[tuple[onnx.NodeProto, int]]] = {}
        for node in nodes(self.flat.graph):
            for position, name in enumerate(node.input):
                consumers.setdefault(name, []).append((node, position))
        return consumers

    def is_whole(self, name: str) -> bool:
        """Whether a value has a type of whole numbers; truths count as such."""
        data_type = DATA_TYPES.get(self.types.get(name, 0))
        return data_type is not None and not data_type.is_floating

    def place(self, node: onnx.NodeProto) -> str:
        """Where a node is, for a message."""
        label = node.name or ", ".join(node.output)
        return f"{self.where}, node `{label}` ({node.op_type})"


def read_model(path: Path) -> CheckedModel:
    """Parse the graph at `path`; raise `InputError` when it is no ONNX model."""
    where = str(path)
    size = path.stat().st_size
    if size > MAX_PROTO_BYTES:
        expected, actual = f"at most {MAX_PROTO_BYTES} bytes", f"{size} bytes"
        fix = "save the weights as external data"
        raise InputError(Problem("the graph file is too large", where, expected, actual, fix))
    data = path.read_bytes()
    if data.startswith(LFS_PREFIX):
        fix = "run `git lfs pull`, or download the file itself"
        problem = Problem("the file is a Git LFS pointer, not a model", where, "ONNX", fix=fix)
        raise InputError(problem)
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise InputError(Problem("not an ONNX model", where, "ONNX", str(error))) from error
    if not model.ir_version or not model.HasField("graph"):
        raise InputError(Problem("not an ONNX model", where, "an IR version and a graph", "none"))
    return CheckedModel(model, where)


def _constants(model: onnx.ModelProto) -> Iterator[Constant]:
    for held in all_tensors(model):
        if not held.is_external:
            filled = held.node is not None and held.node.op_type in _FILLS_ITS_OUTPUT
            yield Constant(held.node.output[0] if filled and held.node else held.name, held.tensor)
    for node in nodes(model.graph):
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            tensor = _plain_numbers(node)
            if tensor is not None:
                yield Constant(node.output[0], tensor)


def _plain_numbers(node: onnx.NodeProto) -> onnx.TensorProto | None:
    """What a `Constant` holds that has no tensor but numbers."""
    for attribute in node.attribute:
        if attribute.name in ("value_float", "value_floats"):
            values = attribute.floats or [attribute.f]
            return onnx.helper.make_tensor("", onnx.TensorProto.FLOAT, [len(values)], values)
        if attribute.name in ("value_int", "value_ints"):
            integers = attribute.ints or [attribute.i]
            return onnx.helper.make_tensor("", onnx.TensorProto.INT64, [len(integers)], integers)
    return None
