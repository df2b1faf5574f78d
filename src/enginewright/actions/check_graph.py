"""Step: check the structure of an ONNX graph; fails with all problems of all checks.

Inputs: `model` (the graph file alone). Parameters: `dynamic_axes`, either a list of axis names that
the inputs must have, or {tensor: {position: axis}} with every axis of inputs and outputs that is
dynamic; `dtype` of the weights, or null; `reader`, null or an object with the fields of `Reader`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright.checks.attribute_size import check_attribute_size
from enginewright.checks.constant_range import check_constant_range
from enginewright.checks.dynamic_axes import AxesByTensor, AxisNames, check_dynamic_axes
from enginewright.checks.external_data import check_external_data
from enginewright.checks.findings import Findings
from enginewright.checks.half_norms import check_half_norms
from enginewright.checks.int64_constants import check_int64_constants
from enginewright.checks.names import check_names
from enginewright.checks.reader_limits import Reader, check_reader_limits
from enginewright.checks.shape_inputs import check_shape_inputs
from enginewright.checks.structure import check_shapes, check_structure
from enginewright.checks.weight_dtype import DTYPES, check_weight_dtype
from enginewright.errors import Problem, raise_if_any
from enginewright.onnx_model.reader import CheckedModel, read_model
from enginewright.step import ActionRequest, Result, main


@dataclass(frozen=True)
class Parameters:
    dynamic_axes: AxesByTensor | AxisNames
    dtype: str | None
    reader: Reader | None

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Parameters:
        """Raise `InputError` with all problems."""
        problems = [
            Problem("unknown parameter", f"parameter `{name}`", "dynamic_axes, dtype, reader")
            for name in sorted(set(given) - {"dynamic_axes", "dtype", "reader"})
        ]
        axes = given.get("dynamic_axes")
        if not _are_names(axes) and not _are_axes_by_tensor(axes):
            expected = 'a list of names, or {tensor: {"0": name, ...}}'
            problems.append(
                Problem("a parameter is wrong", "parameter `dynamic_axes`", expected, repr(axes))
            )
        dtype = given.get("dtype")
        if dtype is not None and dtype not in DTYPES:
            expected = f"null, {', '.join(sorted(DTYPES))}"
            problems.append(
                Problem("a parameter is wrong", "parameter `dtype`", expected, repr(dtype))
            )
        reader = given.get("reader")
        if reader is not None and not _is_reader(reader):
            expected = "null, or product, opset_min, opset_max and ir_max"
            problems.append(
                Problem("a parameter is wrong", "parameter `reader`", expected, repr(reader))
            )
        raise_if_any(problems)
        return cls(_decode_axes(axes), dtype, None if reader is None else Reader(**reader))


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001 (writes no file)
    parameters = Parameters.parse(request.parameters)
    checked = read_model(request.file("model").path)
    findings = run_checks(checked, parameters)
    joined = Findings.join(findings.values())
    raise_if_any(joined.problems)
    return {"checks": sorted(findings), "warnings": list(joined.warnings)}


def run_checks(checked: CheckedModel, parameters: Parameters) -> dict[str, Findings]:
    """All findings, by the name of the check."""
    model, where = checked.model, checked.where
    findings = {
        "structure": check_structure(checked),
        "dynamic_axes": check_dynamic_axes(model.graph, where, parameters.dynamic_axes),
        "names": check_names(model.graph, where),
        "external_data": check_external_data(model, where),
        "attribute_size": check_attribute_size(checked),
    }
    if parameters.reader is not None:
        findings["reader_limits"] = check_reader_limits(model, where, parameters.reader)
    if parameters.dtype is not None:
        findings["weight_dtype"] = check_weight_dtype(model, where, parameters.dtype)
    # The others look at types, which an invalid graph does not have.
    if not findings["structure"].problems:
        findings["shapes"] = check_shapes(checked)
        findings["half_norms"] = check_half_norms(checked)
        findings["constant_range"] = check_constant_range(checked)
        findings["shape_inputs"] = check_shape_inputs(checked)
        findings["int64_constants"] = check_int64_constants(checked)
    return findings


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _are_axes_by_tensor(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(axes, Mapping)
        and all(position.isdecimal() and isinstance(name, str) for position, name in axes.items())
        for axes in value.values()
    )


def _decode_axes(value: Any) -> AxesByTensor | AxisNames:
    if isinstance(value, list):
        return tuple(value)
    return {
        tensor: {int(position): name for position, name in axes.items()}
        for tensor, axes in value.items()
    }


def _is_reader(value: object) -> bool:
    numbers = ("ir_max", "opset_max", "opset_min")
    return (
        isinstance(value, Mapping)
        and sorted(value) == [*numbers, "product"]
        and isinstance(value["product"], str)
        and all(type(value[name]) is int for name in numbers)
    )


if __name__ == "__main__":
    main(run)
