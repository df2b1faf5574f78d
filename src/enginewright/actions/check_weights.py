"""Step: check the external data of an ONNX model, read once from end to end.

Inputs: `model` (the graph file), `data` (its data files; none when all weights are inline).
Parameters: `dtype`, the one that the model was made for. Fails with all problems.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.checks.external_data import check_external_data, external_tensors
from enginewright.checks.findings import Findings
from enginewright.checks.unused_data import check_unused_data
from enginewright.checks.weight_values import check_weight_values
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.onnx_model.element_type import NAMES
from enginewright.onnx_model.reader import read_model
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001 (writes no file)
    dtype = request.parameters.get("dtype")
    if dtype not in NAMES or len(request.parameters) != 1:
        expected, actual = f"only `dtype`: {' or '.join(NAMES)}", repr(dict(request.parameters))
        raise InputError(Problem("a parameter is wrong", "parameters", expected, actual))
    model_path = request.file("model").path
    checked = read_model(model_path)
    data = request.inputs.get("data", ())
    for file in data:
        file.verify()
    files = {_location(file.path, model_path.parent): file.path for file in data}
    sizes = {location: path.stat().st_size for location, path in files.items()}
    raise_if_any(check_external_data(checked.model, checked.where, sizes).problems)
    tensors, _ = external_tensors(checked.model, checked.where)
    findings = Findings.join(
        [
            check_weight_values(tensors, files, checked.where, dtype),
            check_unused_data(tensors, files, checked.where),
        ]
    )
    raise_if_any(findings.problems)
    unused = sorted(set(files) - {tensor.location for tensor in tensors})
    return {
        "checks": ["external_data", "unused_data", "weight_values"],
        "warnings": [
            *findings.warnings,
            *(f"no tensor of the graph lies in `{location}`" for location in unused),
        ],
    }


def _location(path: Path, folder: Path) -> str:
    """As the graph names the file: relative to its folder, or by name from elsewhere."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


if __name__ == "__main__":
    main(run)
