"""The axes that should stay dynamic are dynamic, and no others are."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from enginewright.errors import Problem
from enginewright.graph_check.findings import Findings

DynamicAxes = Mapping[str, Mapping[int, str]]
"""Name of the axis by tensor and position of the dimension."""


def check_dynamic_axes(graph: onnx.GraphProto, where: str, declared: DynamicAxes) -> Findings:
    """Compare the inputs and outputs with `declared`, which must list every dynamic axis."""
    initializers = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in initializers]
    values = {value.name: value for value in [*inputs, *graph.output]}
    problems = [
        Problem(
            "dynamic axes are declared for a tensor that the graph does not have",
            where,
            ", ".join(f"`{name}`" for name in sorted(values)),
            f"`{name}`",
        )
        for name in sorted(set(declared) - set(values))
    ]
    for name, value in values.items():
        problems.extend(_value_problems(value, where, declared.get(name, {})))
    return Findings(tuple(problems))


def _value_problems(
    value: onnx.ValueInfoProto, where: str, declared: Mapping[int, str]
) -> list[Problem]:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return [Problem("an input or output has no shape", f"{where}, tensor `{value.name}`")]
    dims = list(tensor.shape.dim)
    problems = [
        Problem(
            "a dynamic axis is declared beyond the rank of the tensor",
            f"{where}, tensor `{value.name}`",
            f"0 to {len(dims) - 1}",
            f"{position} (`{axis}`)",
        )
        for position, axis in sorted(declared.items())
        if not 0 <= position < len(dims)
    ]
    for position, dim in enumerate(dims):
        axis = declared.get(position)
        here = f"{where}, tensor `{value.name}`, dimension {position}"
        if dim.HasField("dim_value") and axis is not None:
            fix = "export with an example whose size is not 1 and that the model does not fix"
            actual = f"fixed to {dim.dim_value}"
            problems.append(
                Problem("a declared dynamic axis is not dynamic", here, f"`{axis}`", actual, fix)
            )
        elif not dim.HasField("dim_value") and not dim.dim_param:
            problems.append(
                Problem("a dimension has neither size nor name", here, axis or "a name or a size")
            )
        elif dim.dim_param and dim.dim_param != axis:
            expected = "a size" if axis is None else f"`{axis}`"
            problems.append(
                Problem(
                    "an axis is dynamic that is not declared so"
                    if axis is None
                    else "a dynamic axis has another name",
                    here,
                    expected,
                    f"`{dim.dim_param}`",
                    "add it to the declared dynamic axes, or fix its size in the export",
                )
            )
    return problems
