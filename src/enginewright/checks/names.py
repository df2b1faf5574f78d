"""Inputs, outputs and weights: no name twice, nothing unused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.data_type import DATA_TYPES
from enginewright.onnx_model.tensors import nodes

LEAST_WEIGHT = 2
"""Elements."""


def check_names(graph: onnx.GraphProto, where: str) -> Findings:
    """Fail for names that occur twice and for inputs and weights that nothing reads.

    Warn of inputs of which only the shape is read.
    """
    problems: list[Problem] = []
    for kind, names in (
        ("input", [value.name for value in graph.input]),
        ("output", [value.name for value in graph.output]),
        ("initializer", [tensor.name for tensor in graph.initializer]),
    ):
        problems.extend(
            Problem(
                f"an {kind} occurs more than once",
                f"{where}, tensor `{name}`",
                "1",
                str(count),
                "give each its own name",
            )
            for name, count in sorted(Counter(names).items())
            if count > 1
        )
    used = {name for node in nodes(graph) for name in node.input}
    used.update(value.name for value in graph.output)
    problems.extend(
        Problem(
            "an input is not used by any node",
            f"{where}, input `{value.name}`",
            fix="remove it from the export: an engine would drop it, or refuse the profile",
        )
        for value in graph.input
        if value.name not in used
    )
    problems.extend(
        Problem(
            "a weight is not used by any node",
            f"{where}, initializer `{tensor.name}`",
            "a node that reads it",
            f"{list(tensor.dims)} elements that nothing reads",
            "the graph lost what used it, such as the addition of a bias: export again, or remove "
            "the initializer where that was meant",
        )
        for tensor in graph.initializer
        if tensor.name not in used and _is_weight(tensor)
    )
    return Findings(tuple(problems), tuple(_read_for_shape_only(graph, where)))


def _is_weight(tensor: onnx.TensorProto) -> bool:
    """Scalars and shapes that an exporter left over lose nothing."""
    data_type = DATA_TYPES.get(tensor.data_type)
    is_number = data_type is not None and data_type.is_floating
    return is_number and prod(tensor.dims) >= LEAST_WEIGHT


def _read_for_shape_only(graph: onnx.GraphProto, where: str) -> Iterator[str]:
    """Inputs whose values nothing reads: often an input that the exporter mistook for another."""
    readers: dict[str, set[str]] = {}
    for node in nodes(graph):
        for name in node.input:
            readers.setdefault(name, set()).add(node.op_type)
    for value in graph.input:
        if readers.get(value.name) == {"Shape"}:
            yield f"{where}: only the shape of input `{value.name}` is used, not its values"
