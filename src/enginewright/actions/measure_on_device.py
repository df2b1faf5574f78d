"""Step: measure an engine on the GPU that it is for, against float64 on the same GPU.

Another GPU is refused by its name before anything is loaded. Inputs: `package`; of the reference
`config`, `weights` and `tokenizer`; `dataset`. Parameters: `device.request.DeviceTest`. Outputs:
`report.json`, and `report.txt`, which is printed too. Imports the task's `on_device`, and the
product's room.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import transformers

from enginewright import canonical_json
from enginewright.device.comparison import DeviceComparison
from enginewright.device.evidence import evidence
from enginewright.device.gpu import require_device
from enginewright.device.request import DeviceTest
from enginewright.errors import Problem, raise_if_any
from enginewright.step import ActionRequest, Result, main
from enginewright.tasks.registry import find_task
from enginewright.validation.judgement import Verdict, contradictions, judge
from enginewright.validation.measurement import ReferenceFiles
from enginewright.validation.opened_engine import open_engine, opened, read_engine
from enginewright.validation.reference_model import LIBRARY
from enginewright.validation.report import render


def run(request: ActionRequest, outputs: Path) -> Result:
    wanted = request.decode(DeviceTest)
    device = require_device(wanted.device)
    what = wanted.measurement
    package = read_engine(request, what.room)
    assert what.room is not None  # for the type checker: `read_engine` raised otherwise
    candidate = opened(request, package, open_engine(package, what.room, what.threads))
    reference = ReferenceFiles(
        request.file("config").path,
        tuple(file.path for file in request.files("weights")),
        request.paths("tokenizer"),
    )
    room = find_task(what.task, "parameters, task").part("on_device")
    dataset = request.file("dataset").path
    found: DeviceComparison = room.compare(candidate.candidate, reference, dataset, what)
    of = {"library": LIBRARY, "dtype": what.reference_dtype, "device": what.reference_device}
    described = found.measured.document(what.task, of, candidate.description, _versions())
    measurements = {**described, **found.details()}
    verdicts = (*judge(measurements, wanted.thresholds), *_own(wanted, found))
    against = contradictions(measurements)
    missed = [verdict.problem() for verdict in verdicts if not verdict.passed]
    report = {
        **evidence(device, package),
        "passed": not missed and not against,
        "verdicts": [verdict.to_json() for verdict in verdicts],
        "measurements": measurements,
    }
    canonical_json.write(outputs / "report.json", report)
    text = f"on {device.name}, driver {device.driver}\n" + render(measurements, verdicts, against)
    (outputs / "report.txt").write_text(text, encoding="utf-8")
    print(text)
    raise_if_any([*missed, *against, *_unseen(found)])
    return {"passed": True, "device": device.name}


def _versions() -> dict[str, str]:
    modules = {"numpy": np, "torch": torch, "transformers": transformers}
    return {name: str(module.__version__) for name, module in modules.items()}


def _own(wanted: DeviceTest, found: DeviceComparison) -> Iterator[Verdict]:
    if wanted.max_error_ratio is not None:
        yield Verdict("error_ratio", found.error_ratio, wanted.max_error_ratio, is_minimum=False)


def _unseen(found: DeviceComparison) -> Iterator[Problem]:
    if found.eager.nan_count or found.eager.inf_count:
        yield Problem("PyTorch in the engine's type gives no finite numbers", "the reference")


if __name__ == "__main__":
    main(run)
