"""The axes that should stay dynamic are dynamic.

An exporter that sees an axis of size 1 in its example may fix it to 1 without a word.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem

AxesByTensor = Mapping[str, Mapping[int, str]]
"""Name of the axis by tensor and position of the dimension."""
AxisNames = tuple[str, ...]

_FIX = "export with an example whose size is not 1 and that the model does not fix"


def check_dynamic_axes(
    graph: onnx.GraphProto, where: str, declared: AxesByTensor | AxisNames
) -> Findings:
    """Compare the inputs and outputs with what was declared.

    Names alone: each must be the name of a dimension of an input; there may be others. By tensor:
    exactly these dimensions are dynamic. Every dimension must have a size or a name.
    """
    initializers = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in initializers]
    values = {value.name: value for value in [*inputs, *graph.output]}
    problems = []
    for value in values.values():
        problems.extend(_unnamed(value, where))
    if isinstance(declared, tuple):
        problems.extend(_missing_names(inputs, where, declared))
        return Findings(tuple(problems))
    problems.extend(
        Problem(
            "dynamic axes are declared for a tensor that the graph does not have",
            where,
            ", ".join(f"`{name}`" for name in sorted(values)),
            f"`{name}`",
        )
        for name in sorted(set(declared) - set(values))
    )
    for name, value in values.items():
        problems.extend(_differences(value, where, declared.get(name, {})))
    return Findings(tuple(problems))


def _dims(value: onnx.ValueInfoProto) -> list[onnx.TensorShapeProto.Dimension]:
    return list(value.type.tensor_type.shape.dim)


def _place(where: str, value: onnx.ValueInfoProto, position: int) -> str:
    return f"{where}, tensor `{value.name}`, dimension {position}"


def _shape(value: onnx.ValueInfoProto) -> str:
    return (
        f"`{value.name}` [{', '.join(dim.dim_param or str(dim.dim_value) for dim in _dims(value))}]"
    )


def _unnamed(value: onnx.ValueInfoProto, where: str) -> list[Problem]:
    if not value.type.tensor_type.HasField("shape"):
        return [Problem("an input or output has no shape", f"{where}, tensor `{value.name}`")]
    return [
        Problem(
            "a dimension has neither size nor name",
            _place(where, value, position),
            "a size, or the name of a dynamic axis",
            fix="name it in the export",
        )
        for position, dim in enumerate(_dims(value))
        if not dim.HasField("dim_value") and not dim.dim_param
    ]


def _missing_names(
    inputs: list[onnx.ValueInfoProto], where: str, names: AxisNames
) -> list[Problem]:
    present = {dim.dim_param for value in inputs for dim in _dims(value)}
    return [
        Problem(
            "a declared dynamic axis is not dynamic",
            where,
            f"an input with a dimension `{name}`",
            "; ".join(_shape(value) for value in inputs) or "no input",
            _FIX,
        )
        for name in names
        if name not in present
    ]


def _differences(
    value: onnx.ValueInfoProto, where: str, declared: Mapping[int, str]
) -> list[Problem]:
    dims = _dims(value)
    problems = [
        Problem(
            "a dynamic axis is declared beyond the rank of the tensor",
            f"{where}, tensor `{value.name}`",
            f"a position below {len(dims)}",
            f"{position} (`{axis}`)",
        )
        for position, axis in sorted(declared.items())
        if position >= len(dims)
    ]
    for position, dim in enumerate(dims):
        here, axis = _place(where, value, position), declared.get(position)
        if dim.HasField("dim_value") and axis is not None:
            actual = f"fixed to {dim.dim_value}"
            problems.append(
                Problem("a declared dynamic axis is not dynamic", here, f"`{axis}`", actual, _FIX)
            )
        elif dim.dim_param and axis is None:
            what, actual = "an axis is dynamic that is not declared so", f"`{dim.dim_param}`"
            fix = "declare it, or fix its size in the export"
            problems.append(Problem(what, here, "a size", actual, fix))
        elif dim.dim_param and dim.dim_param != axis:
            what = "a dynamic axis has another name than declared"
            problems.append(Problem(what, here, f"`{axis}`", f"`{dim.dim_param}`"))
    return problems
