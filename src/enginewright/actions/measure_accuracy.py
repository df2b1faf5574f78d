"""Step: measure an engine against its PyTorch original, on a dataset.

Inputs: the engine, as `package` (all files of a packaged engine, which is opened as `run` opens
it), or as `model` (one `.onnx` file and its external data, which stand for an engine that needs a
device) with `serving` (tokenizer and so on); of the reference `config`, `weights` (with their
index) and `tokenizer`; `dataset`. Parameters: see `validation.measurement_request`. Outputs:
`measurements.json`, with numbers only. Imports the measurement of the task's room.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import torch
import transformers

from enginewright import canonical_json
from enginewright.document import decode
from enginewright.step import ActionRequest, Result, main
from enginewright.tasks.registry import find_task
from enginewright.validation.candidate import open_candidate
from enginewright.validation.measurement import Measured, Measurement, ReferenceFiles
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.reference_model import LIBRARY


def run(request: ActionRequest, outputs: Path) -> Result:
    wanted = decode(MeasurementRequest, request.parameters, "parameters")
    room: Measurement = find_task(wanted.task, "parameters, task").part("measure")
    opened = open_candidate(request, wanted)
    reference = ReferenceFiles(
        request.file("config").path,
        tuple(file.path for file in request.files("weights")),
        request.paths("tokenizer"),
    )
    measured = room.measure(opened.candidate, reference, request.file("dataset").path, wanted)
    measurements = describe(wanted, opened.description, measured)
    canonical_json.write(outputs / "measurements.json", measurements)
    return {"total": measurements["total"]}


def describe(
    wanted: MeasurementRequest, candidate: Mapping[str, str], measured: Measured
) -> dict[str, Any]:
    return {
        "task": wanted.task,
        "reference": {
            "library": LIBRARY,
            "dtype": wanted.reference_dtype,
            "device": "cpu",
            "output": measured.reference,
        },
        "candidate": dict(candidate),
        "versions": {
            "numpy": np.__version__,
            "onnxruntime": onnxruntime.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "runs": [item.to_json() for item in measured.runs],
        "total": measured.total().to_json(),
        "coverage": measured.coverage.to_json(),
        "notes": list(measured.notes),
        **measured.details,
    }


if __name__ == "__main__":
    main(run)
