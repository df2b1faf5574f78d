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

import onnx

from enginewright.errors import InputError, Problem
from enginewright.onnx_model.files import find_model
from enginewright.onnx_model.weights import ModelWeights
from enginewright.onnx_model.writing import FOLDER, write_graph
from enginewright.passes.quantization.quantized_model import DATA_FILE, TensorReport, quantize_model
from enginewright.passes.quantization.scheme import GROUP_SIZES, Scheme
from enginewright.progress import report
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    scheme = Scheme.decode(request.parameters)
    files = [*request.files("model"), *request.inputs.get("weights", ())]
    path = find_model([file.path for file in files])
    for file in files:
        file.verify()
    model = onnx.load(str(path), load_external_data=False)
    weights = ModelWeights({file.path.name: file.path for file in files if file.path != path})
    folder = outputs / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    quantized = quantize_model(
        model, weights, scheme, folder / DATA_FILE, lambda message: report("quantize", message)
    )
    sizes = ", ".join(map(str, sorted(set(quantized.indivisible))))
    others = _other_group_sizes(quantized.indivisible)
    if all(tensor.kept for tensor in quantized.tensors):
        if quantized.indivisible:
            what = "the group size divides the inputs of no weight"
            where, divisor = "parameter `group_size`", f"a divisor of {sizes}{others}"
            raise InputError(Problem(what, where, divisor, str(scheme.group_size)))
        reasons = "; ".join(f"{t.name}: {t.kept}" for t in quantized.tensors[:5])
        raise InputError(
            Problem(
                "the model has no weight that can be quantized",
                path.name,
                "a MatMul with a two-dimensional initializer",
                reasons or "none",
            )
        )
    write_graph(quantized.model, outputs)
    return {
        "scheme": asdict(scheme),
        "matrix_weights": _totals([t for t in quantized.tensors if not t.kept]),
        "tensors": [asdict(tensor) for tensor in quantized.tensors],
        "warnings": [
            f"group_size={scheme.group_size} does not divide the inputs ({sizes}) of "
            f"{len(quantized.indivisible)} weights, which stay as they are{others}"
        ]
        if quantized.indivisible
        else [],
        "reproducibility": "bit-identical",
    }


def _other_group_sizes(inputs: Sequence[int]) -> str:
    """Which group sizes divide all of `inputs`, as the end of a sentence."""
    fitting = [str(size) for size in GROUP_SIZES if not any(n % size for n in inputs)]
    return f" (these do: {', '.join(fitting)})" if fitting else " (none of the group sizes does)"


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
