"""Step: measure an engine against its PyTorch original, on a dataset.

The original is a checkpoint, which PyTorch runs, or the ONNX file that the engine was made of.

Inputs: the engine, as `package` (all files of a packaged engine, which is opened as `run` opens
it), or as `model` (one `.onnx` file and its external data, which stand for an engine that needs a
device) with `serving` (tokenizer and so on); of the reference `config`, `weights` (with their
index) and `tokenizer`, or `original` (one `.onnx` file and its external data); `dataset`, which
may be missing for an `original`. Parameters: see `validation.measurement_request`. Outputs:
`measurements.json`, with numbers only. Imports the measurement of the task's room.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import torch
import transformers

from enginewright import canonical_json
from enginewright.document import decode
from enginewright.onnx_model.files import find_model
from enginewright.step import ActionRequest, Result, main
from enginewright.tasks.registry import find_task
from enginewright.validation import graph_backend
from enginewright.validation.candidate import open_candidate
from enginewright.validation.measurement import (
    Candidate,
    FileMeasurement,
    Measured,
    Measurement,
    ReferenceFiles,
)
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.reference_model import LIBRARY


def run(request: ActionRequest, outputs: Path) -> Result:
    wanted = decode(MeasurementRequest, request.parameters, "parameters")
    opened = open_candidate(request, wanted)
    is_file = "original" in request.inputs
    measure = _measure_file if is_file else _measure
    library, dtype = (
        (graph_backend.LIBRARY, "as the file is") if is_file else (LIBRARY, wanted.reference_dtype)
    )
    measured = measure(request, wanted, opened.candidate)
    versions = {
        "numpy": np.__version__,
        "onnxruntime": onnxruntime.__version__,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    of = {"library": library, "dtype": dtype, "device": wanted.reference_device}
    measurements = measured.document(wanted.task, of, opened.description, versions)
    canonical_json.write(outputs / "measurements.json", measurements)
    return {"total": measurements["total"]}


def _measure(request: ActionRequest, wanted: MeasurementRequest, engine: Candidate) -> Measured:
    room: Measurement = find_task(wanted.task, "parameters, task").part("measure")
    reference = ReferenceFiles(
        request.file("config").path,
        tuple(file.path for file in request.files("weights")),
        request.paths("tokenizer"),
    )
    return room.measure(engine, reference, request.file("dataset").path, wanted)


def _measure_file(
    request: ActionRequest, wanted: MeasurementRequest, engine: Candidate
) -> Measured:
    room: FileMeasurement = find_task(wanted.task, "parameters, task").part("measure")
    original = find_model([file.path for file in request.files("original")])
    dataset = request.file("dataset").path if request.inputs.get("dataset") else None
    return room.measure_file(engine, original, dataset, wanted)


if __name__ == "__main__":
    main(run)
