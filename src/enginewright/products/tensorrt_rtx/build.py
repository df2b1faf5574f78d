"""Step: build a serialized engine from an ONNX model, with TensorRT for RTX.

Inputs: `model` (one `.onnx` file, and its external data in the same folder), `record` (its
onnx.json). Parameters: see `products.tensorrt.options`. Outputs: `engine.plan`; the result
is a `BuildResult`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.document import encode
from enginewright.onnx_model.files import find_model
from enginewright.onnx_model.record import read_record
from enginewright.products.tensorrt import deterministic_process
from enginewright.products.tensorrt.builder import build
from enginewright.products.tensorrt.built_plan import PLAN_NAME
from enginewright.products.tensorrt.options import BuildRequest
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    build_request = BuildRequest.decode(request.parameters, TENSORRT_RTX)
    files = request.files("model")
    model, record = find_model([file.path for file in files]), request.file("record")

    def verify_inputs() -> None:
        for file in (record, *files):
            file.verify()

    described = read_record(record.path)
    plan = outputs / PLAN_NAME
    return encode(build(TENSORRT_RTX, build_request, model, described, plan, verify_inputs))


def run_deterministically(request: ActionRequest, outputs: Path) -> Result:
    deterministic_process.enter()
    return run(request, outputs)


if __name__ == "__main__":
    main(run_deterministically)
