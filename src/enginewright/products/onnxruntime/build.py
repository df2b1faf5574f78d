"""Step: optimize an ONNX model with ONNX Runtime for one execution provider.

Inputs: `model` (one `.onnx` file and its external data, in one folder); `operators`, where kernels
of our own are wanted (one library). Parameters: see `options`. Outputs: `model.onnx`,
`model.onnx.data`, `operators.so`; the result is a `BuildResult`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.document import encode
from enginewright.onnx_model.files import find_model
from enginewright.products.onnxruntime.optimize import optimize
from enginewright.products.onnxruntime.options import OnnxRuntimeOptions
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    options = request.decode(OnnxRuntimeOptions)
    files = request.files("model")
    model = find_model([file.path for file in files])
    for file in files:
        file.verify()
    operators = None
    if "operators" in request.inputs:
        library = request.file("operators")
        library.verify()
        operators = library.path
    return encode(optimize(model, outputs, options, operators))


if __name__ == "__main__":
    main(run)
