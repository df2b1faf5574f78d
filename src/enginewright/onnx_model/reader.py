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
from enginewright.onnx_model.external_tensors import is_external, without_external_tensors

LFS_PREFIX = b"version https://git-lfs"
MAX_PROTO_BYTES = 2**31 - 1
"""Protobuf reads no longer message."""


@dataclass(frozen=True)
class Constant:
    """A tensor whose values stand in the graph itself."""

    name: str
    """Of the value in the graph."""
    tensor: onnx.TensorProto


@dataclass(frozen=True)
class CheckedModel:
    model: onnx.ModelProto
    """As it was read."""
    where: str
    """Names the file in messages."""

    @cached_property
    def flat(self) -> onnx.ModelProto:
        """Model-local functions inlined, and external initializers turned into inputs."""
        flat = without_external_tensors(self.model)
        return onnx.inliner.inline_local_functions(flat) if flat.functions else flat

    @cached_property
    def types(self) -> Mapping[str, int]:
        """Element type of each value of the main graph that shape inference could find."""
        try:
            inferred = onnx.shape_inference.infer_shapes(self.flat, data_prop=True).graph
        except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
            inferred = self.flat.graph
        values = [*inferred.value_info, *inferred.input, *inferred.output]
        types = {value.name: value.type.tensor_type.elem_type for value in values}
        types.update((tensor.name, tensor.data_type) for tensor in inferred.initializer)
        return types

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """Inline initializers and the tensors of `Constant` nodes of all graphs, flat."""
        return tuple(_constants(self.flat.graph))

    @cached_property
    def consumers(self) -> Mapping[str, list[tuple[onnx.NodeProto, int]]]:
        """The nodes that read each value, and as which of their inputs."""
        consumers: dict[str, list[tuple[onnx.NodeProto, int]]] = {}
        for node in nodes(self.flat.graph):
            for position, name in enumerate(node.input):
                consumers.setdefault(name, []).append((node, position))
        return consumers

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


def nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph and of all graphs inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from nodes(inner)


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and all graphs inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from graphs(inner)


def _constants(graph: onnx.GraphProto) -> Iterator[Constant]:
    for inner in graphs(graph):
        for tensor in inner.initializer:
            if not is_external(tensor):
                yield Constant(tensor.name, tensor)
        for node in inner.node:
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                tensor = _constant_tensor(node)
                if tensor is not None and not is_external(tensor):
                    yield Constant(node.output[0], tensor)


def _constant_tensor(node: onnx.NodeProto) -> onnx.TensorProto | None:
    for attribute in node.attribute:
        if attribute.name == "value":
            tensor: onnx.TensorProto = attribute.t
            return tensor
        if attribute.name in ("value_float", "value_floats"):
            values = attribute.floats or [attribute.f]
            return onnx.helper.make_tensor("", onnx.TensorProto.FLOAT, [len(values)], values)
        if attribute.name in ("value_int", "value_ints"):
            integers = attribute.ints or [attribute.i]
            return onnx.helper.make_tensor("", onnx.TensorProto.INT64, [len(integers)], integers)
    return None
