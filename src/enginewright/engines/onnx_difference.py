"""What differs between two ONNX models, and between the files that their tensors lie in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from onnx import ModelProto, NodeProto

from enginewright.checks.external_data import external_tensors
from enginewright.engines.first_difference import first_difference
from enginewright.errors import InputError
from enginewright.onnx_model.reader import read_model

SUFFIX = ".onnx"


def differences(name: str, first: Mapping[str, Path], second: Mapping[str, Path]) -> list[str]:
    """Of the file `name` of two builds; empty for a file that is no part of an ONNX model."""
    if name.endswith(SUFFIX):
        one, two = _model(first[name]), _model(second[name])
        return [] if one is None or two is None else _of_models(one, two)
    return [
        f"tensor `{tensor}`"
        for tensor, begin, end in _tensors_in(name, first)
        if first_difference(first[name], second[name], begin, end) is not None
    ]


def _model(path: Path) -> ModelProto | None:
    try:
        return read_model(path).model
    except InputError:
        return None


def _tensors_in(name: str, files: Mapping[str, Path]) -> Iterable[tuple[str, int, int]]:
    """Tensors of the build's models that lie in the file: name, offset, offset after the last."""
    for other, path in sorted(files.items()):
        model = _model(path) if other.endswith(SUFFIX) else None
        if model is None:
            continue
        for tensor in external_tensors(model, other)[0]:
            if str(PurePosixPath(other).parent / tensor.location) == name:
                yield tensor.name, tensor.begin, tensor.end


def _of_models(one: ModelProto, two: ModelProto) -> list[str]:
    found = _of_fields("", one, two, ("graph",))
    found += _of_fields("graph.", one.graph, two.graph, ("node", "initializer"))
    tensors = ({t.name: t for t in model.graph.initializer} for model in (one, two))
    left, right = tensors
    for name in sorted({*left} | {*right}):
        if left.get(name) != right.get(name):
            found.append(f"initializer `{name}`")
    nodes = [list(model.graph.node) for model in (one, two)]
    if len(nodes[0]) != len(nodes[1]):
        found.append(f"{len(nodes[0])} and {len(nodes[1])} nodes")
    pairs = zip(*nodes, strict=False)
    return found + [_node(i, a, b) for i, (a, b) in enumerate(pairs) if a != b]


def _of_fields(prefix: str, one: Any, two: Any, apart: tuple[str, ...]) -> list[str]:
    """Names of the fields of two messages that differ, but those that are looked at apart."""
    names = [field.name for field in one.DESCRIPTOR.fields if field.name not in apart]
    return [f"field `{prefix}{n}`" for n in names if getattr(one, n) != getattr(two, n)]


def _node(index: int, one: NodeProto, two: NodeProto) -> str:
    if one.op_type != two.op_type:
        return f"node {index} ({one.op_type} and {two.op_type})"
    return f"node {index} `{one.name or ', '.join(one.output)}` ({one.op_type})"
