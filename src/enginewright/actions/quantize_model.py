"""Step: weight-only quantization of an ONNX model, without calibration data.

Inputs: `model` (one `.onnx` file; its external data too, where they are not in `weights`) and
`weights` (optional: the files that the external data of the model name). Parameters: `method`
(`int8` or `int4`), `group_size` (32, 64, 128; int4 only), `keep` (patterns of weights that stay).
Outputs: `model/model.onnx`, `onnx.json` and `model/model.quantized.data`, which holds every weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from enginewright.onnx_model.files import find_model
from enginewright.onnx_model.weights import ModelWeights
from enginewright.onnx_model.writing import FOLDER
from enginewright.passes.quantization.data_file import DATA_FILE
from enginewright.passes.quantization.quantized_model import (
    QuantizeWeights,
    TensorReport,
    other_group_sizes,
)
from enginewright.passes.quantization.scheme import Scheme, SchemeRequest
from enginewright.passes.transform_file import transform_file
from enginewright.progress import report
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    scheme = request.decode(SchemeRequest).scheme()
    files = [*request.files("model"), *request.inputs.get("weights", ())]
    path = find_model([file.path for file in files])
    for file in files:
        file.verify()
    weights = ModelWeights({file.path.name: file.path for file in files if file.path != path})
    folder = outputs / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    quantization = QuantizeWeights(
        scheme, weights, folder / DATA_FILE, lambda message: report("quantize", message)
    )
    done = transform_file(path, outputs, quantization)
    return {
        "scheme": asdict(scheme),
        "matrix_weights": _totals([t for t in done.tensors if not t.kept]),
        "tensors": [asdict(tensor) for tensor in done.tensors],
        "warnings": _warnings(scheme, done.indivisible),
        "reproducibility": "bit-identical",
    }


def _warnings(scheme: Scheme, indivisible: Sequence[int]) -> list[str]:
    if not indivisible:
        return []
    sizes = ", ".join(map(str, sorted(set(indivisible))))
    return [
        f"group_size={scheme.group_size} does not divide the inputs ({sizes}) of "
        f"{len(indivisible)} weights, which stay as they are{other_group_sizes(indivisible)}"
    ]


def _totals(tensors: list[TensorReport]) -> dict[str, Any]:
    before = sum(tensor.bytes_before for tensor in tensors)
    after = sum(tensor.bytes_after for tensor in tensors)
    elements = sum(tensor.elements for tensor in tensors)
    return {
        "tensors": len(tensors),
        "bytes_before": before,
        "bytes_after": after,
        "ratio": round(after / before, 4),
        "elements": elements,
        "ratio_to_float16": round(after / (2 * elements), 4),
        "largest_relative_error": max(tensor.relative_error for tensor in tensors),
    }


if __name__ == "__main__":
    main(run)
