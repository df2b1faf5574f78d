"""Step: build a serialized engine from an ONNX model, with TensorRT for RTX.

Inputs: `model` (one `.onnx` file, and its external data in the same folder). Parameters: see
`engine.options`. Outputs: `engine.plan`; the result describes it.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.actions.protocol import ActionRequest, InputFile, Result, main
from enginewright.engine.builder import build
from enginewright.engine.options import BuildRequest
from enginewright.errors import InputError, Problem


def find_model(files: tuple[InputFile, ...]) -> Path:
    """The one `.onnx` file among `files`; the others are its external data."""
    models = [file.path for file in files if file.path.suffix == ".onnx"]
    if len(models) != 1:
        names = ", ".join(file.path.name for file in files) or "none"
        raise InputError(Problem("not one ONNX model", "input `model`", "one .onnx file", names))
    return models[0]


def run(request: ActionRequest, outputs: Path) -> Result:
    build_request = BuildRequest.decode(request.parameters)
    files = request.files("model")
    model = find_model(files)
    for file in files:
        file.verify()
    return build(build_request, model, outputs / "engine.plan").to_json()


if __name__ == "__main__":
    main(run)
