"""Step: the weights of a checkpoint in another floating-point type.

Inputs: `weights` (safetensors files) and `descriptor` (checkpoint.json). Parameters: `dtype`.
Outputs: safetensors files of the same names under `weights/`, laid out as `export_direct` expects.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.exporters.direct.weight_conversion import convert_file
from enginewright.exporters.direct.weight_layout import converted_layout, read_layout
from enginewright.onnx_model.element_type import element_type
from enginewright.progress import report
from enginewright.step import ActionRequest, InputFile, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    to = element_type(request.parameters.get("dtype", ""), "parameter `dtype`")
    descriptor = request.file("descriptor")
    descriptor.verify()
    tensors = read_layout(canonical_json.read_object(descriptor.path))
    layouts = converted_layout(tensors, to)
    weights = {file.path.name: file for file in request.files("weights")}
    _check_files({layout.file for layout in layouts}, weights)
    folder = outputs / "weights"
    folder.mkdir(parents=True, exist_ok=True)
    problems: list[Problem] = []
    underflows: dict[str, int] = {}
    for number, layout in enumerate(layouts, 1):
        report("convert", f"{layout.file} to {to.name}, file {number} of {len(layouts)}")
        weights[layout.file].verify()
        converted = convert_file(layout, weights[layout.file].path, folder / layout.file, to)
        problems += [tensor.problem for tensor in converted if tensor.problem is not None]
        underflows.update({t.name: t.underflows for t in converted if t.underflows})
    raise_if_any(problems)
    stored = sorted({tensor.dtype for tensor in tensors})
    return {
        "files": [f"weights/{layout.file}" for layout in layouts],
        "dtype": to.name,
        "stored_dtypes": stored,
        "underflows": underflows,
        "warnings": _warnings(stored, to.name),
        "reproducibility": "bit-identical",
    }


def _check_files(needed: set[str], weights: dict[str, InputFile]) -> None:
    missing = sorted(needed - weights.keys())
    given = ", ".join(sorted(weights)) or "none"
    raise_if_any(
        [Problem("a weights file is missing", "input `weights`", file, given) for file in missing]
    )
    if not needed:
        raise InputError(Problem("the checkpoint has no floating-point weights", "checkpoint.json"))


def _warnings(stored: list[str], to: str) -> list[str]:
    """https://github.com/QwenLM/Qwen3/issues/868: fine weights, but activations overflow."""
    if "BF16" not in stored or to != "float16":
        return []
    return [
        "the model was stored in bfloat16: activations may exceed the range of float16 (65504) "
        "although every weight fits; validate the engine, or use bfloat16"
    ]


if __name__ == "__main__":
    main(run)
