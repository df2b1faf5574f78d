"""Step: check the structure of an ONNX graph; fails with all problems of all checks.

Inputs: `model` (the graph file alone), `record` (its onnx.json). Parameters: see `Parameters`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from enginewright.checks.attribute_size import check_attribute_size
from enginewright.checks.constant_range import check_constant_range
from enginewright.checks.dynamic_axes import AxesByTensor, AxisNames, check_dynamic_axes
from enginewright.checks.external_data import check_external_data
from enginewright.checks.findings import Findings
from enginewright.checks.half_norms import check_half_norms
from enginewright.checks.half_positions import check_half_positions
from enginewright.checks.half_sums import check_half_sums
from enginewright.checks.int64_constants import check_int64_constants
from enginewright.checks.mask_sums import check_mask_sums
from enginewright.checks.names import check_names
from enginewright.checks.record import check_record
from enginewright.checks.shape_inputs import check_shape_inputs
from enginewright.checks.structure import check_shapes, check_structure
from enginewright.checks.weight_dtype import check_weight_dtype
from enginewright.compatibility.onnx_reader import known_reader
from enginewright.document import decode
from enginewright.errors import raise_if_any
from enginewright.onnx_model.element_type import NAMES
from enginewright.onnx_model.flow import STANDARD_DOMAINS
from enginewright.onnx_model.reader import CheckedModel, read_model
from enginewright.onnx_model.reader_limits import Reader, find_limits
from enginewright.onnx_model.record import OnnxRecord, read_record
from enginewright.schema import Count, one_of
from enginewright.step import ActionRequest, Result, main

Axes = tuple[str, ...] | Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Parameters:
    dynamic_axes: Axes
    """Names that the inputs must have; or every dynamic axis, by tensor and position."""
    dtype: Annotated[str, one_of(NAMES)] | None
    """That the model was made for; None: any."""
    reader: str | Reader | None
    """What will read the model: its limits, or its name and version in the table of readers."""
    length: Count | None
    """Tokens that the model was made for at most; None: not known."""

    def axes(self) -> AxesByTensor | AxisNames:
        if isinstance(self.dynamic_axes, tuple):
            return self.dynamic_axes
        return {
            tensor: {int(position): name for position, name in axes.items()}
            for tensor, axes in self.dynamic_axes.items()
        }


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001 (writes no file)
    parameters = decode(Parameters, request.parameters, "parameters")
    checked = read_model(request.file("model").path)
    record = read_record(request.file("record").path)
    findings = run_checks(checked, record, parameters)
    joined = Findings.join(findings.values())
    raise_if_any(joined.problems)
    return {"checks": sorted(findings), "warnings": list(joined.warnings)}


def run_checks(
    checked: CheckedModel, record: OnnxRecord, parameters: Parameters
) -> dict[str, Findings]:
    """All findings, by the name of the check."""
    model, where = checked.model, checked.where
    findings = {
        "structure": check_structure(checked),
        "record": check_record(checked, record),
        "dynamic_axes": check_dynamic_axes(model.graph, where, parameters.axes()),
        "names": check_names(model.graph, where),
        "external_data": check_external_data(model, where),
        "attribute_size": check_attribute_size(checked),
    }
    if parameters.reader is not None:
        findings["reader_limits"] = _check_reader(checked, parameters.reader)
    if parameters.dtype is not None:
        findings["weight_dtype"] = check_weight_dtype(model, where, parameters.dtype)
    # The others look at types, which an invalid graph does not have.
    if not findings["structure"].problems:
        findings["shapes"] = check_shapes(checked)
        findings["half_norms"] = check_half_norms(checked)
        findings["half_positions"] = check_half_positions(checked, parameters.length)
        findings["half_sums"] = check_half_sums(checked, parameters.length)
        findings["mask_sums"] = check_mask_sums(checked)
        findings["constant_range"] = check_constant_range(checked)
        findings["shape_inputs"] = check_shape_inputs(checked)
        findings["int64_constants"] = check_int64_constants(checked)
    return findings


def _check_reader(checked: CheckedModel, named: str | Reader) -> Findings:
    reader = known_reader(named) if isinstance(named, str) else named
    if reader is None:
        warning = f"{checked.where}: which opsets `{named}` reads is not known: not compared"
        return Findings(warnings=(warning,))
    model = checked.model
    opsets = [item.version for item in model.opset_import if item.domain in STANDARD_DOMAINS]
    opset = max(opsets, default=None)
    return Findings(find_limits(reader, checked.where, opset=opset, ir_version=model.ir_version))


if __name__ == "__main__":
    main(run)
