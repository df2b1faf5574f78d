"""Step: optimize an ONNX model with ONNX Runtime for one execution provider.

Inputs: `model` (one `.onnx` file and its external data, in one folder). Parameters: see
`onnxruntime_engine.options`. Outputs: `model.onnx`, `model.onnx.data`; the result describes them
for `write_onnxruntime_manifest`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.actions.protocol import ActionRequest, Result, main
from enginewright.errors import InputError, Problem
from enginewright.onnxruntime_engine.optimize import optimize, to_json
from enginewright.onnxruntime_engine.options import OnnxRuntimeOptions


def run(request: ActionRequest, outputs: Path) -> Result:
    options = OnnxRuntimeOptions.decode(request.parameters)
    files = request.files("model")
    models = [file.path for file in files if file.path.suffix == ".onnx"]
    if len(models) != 1:
        names = ", ".join(file.path.name for file in files) or "none"
        raise InputError(Problem("not one ONNX model", "input `model`", "one .onnx file", names))
    for file in files:
        file.verify()
    return to_json(optimize(models[0], outputs, options), options)


if __name__ == "__main__":
    main(run)
