"""Step: time an engine on the GPU that it is for, beside transformers on the same GPU.

Another GPU is refused by its name before anything is loaded. Inputs: `package`; for baselines
`config` and `weights` of the checkpoint. Parameters: `device.request.Benchmark`. Outputs:
`report.json`, and `report.txt`, which is printed too. Imports the task's `speed`, and the product's
room.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from enginewright import canonical_json, progress
from enginewright.device import speed_report
from enginewright.device.evidence import evidence
from enginewright.device.gpu import require_device, used_bytes
from enginewright.device.request import Benchmark
from enginewright.device.timing import Speed, measure_speed
from enginewright.engines.package import EnginePackage
from enginewright.errors import raise_if_any
from enginewright.step import ActionRequest, Result, main
from enginewright.tasks.interface import interface_of
from enginewright.tasks.registry import find_task
from enginewright.validation.judgement import Verdict
from enginewright.validation.measurement import ReferenceFiles
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.opened_engine import open_engine, read_engine


def run(request: ActionRequest, outputs: Path) -> Result:
    wanted = request.decode(Benchmark)
    device = require_device(wanted.device)
    package = read_engine(request, wanted.room)
    timed = _time_engine(package, wanted)
    room = find_task(wanted.task, "parameters, task").part("speed")
    baselines = dict(_baselines(request, wanted, room, timed))
    verdicts = tuple(_verdicts(wanted, timed, baselines))
    report = {
        **evidence(device, package),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "passed": all(verdict.passed for verdict in verdicts),
        "verdicts": [verdict.to_json() for verdict in verdicts],
        "asked": {**vars(wanted.speed), "batches": list(wanted.speed.batches)},
        "dtype": timed.dtype,
        "load_seconds": timed.load_seconds,
        "memory_bytes": timed.memory_bytes,
        "speeds": [speed.to_json() for speed in timed.speeds],
        "baselines": {name: speed.to_json() for name, speed in baselines.items()},
        "compiled_graphs": room.compiled_graphs(),
    }
    canonical_json.write(outputs / "report.json", report)
    text = speed_report.render(report)
    (outputs / "report.txt").write_text(text, encoding="utf-8")
    print(text)
    raise_if_any([verdict.problem() for verdict in verdicts if not verdict.passed])
    return {"passed": True, "device": device.name}


@dataclass(frozen=True)
class _Timed:
    load_seconds: float
    memory_bytes: int | None
    """Of the GPU, that the engine took with its weights, its cache and its graphs."""
    dtype: str
    vocabulary: int
    speeds: tuple[Speed, ...]


def _time_engine(package: EnginePackage, wanted: Benchmark) -> _Timed:
    room = find_task(wanted.task, "parameters, task").part("speed")
    torch.zeros(1, device="cuda")  # CUDA's own start is no part of loading an engine
    before, begin = used_bytes(), time.perf_counter()
    backend = open_engine(package, wanted.room, 0)
    torch.cuda.synchronize()
    load_seconds = time.perf_counter() - begin
    interface = interface_of(package)
    generate = room.generate_with(interface, backend)
    vocabulary = room.vocabulary_of(interface, backend)
    speeds = []
    for batch in wanted.speed.batches:
        progress.report("Timing", f"{batch} rows")
        speeds.append(measure_speed(generate, batch, vocabulary, wanted.speed))
    after = used_bytes()
    memory = None if before is None or after is None else after - before
    dtype = room.dtype_of(interface, backend)
    return _Timed(load_seconds, memory, dtype, vocabulary, tuple(speeds))


def _baselines(
    request: ActionRequest, wanted: Benchmark, room: Any, timed: _Timed
) -> Iterator[tuple[str, Speed]]:
    """For the first batch."""
    if not wanted.baselines:
        return
    files = ReferenceFiles(
        request.file("config").path, tuple(file.path for file in request.files("weights")), {}
    )
    where = MeasurementRequest(wanted.task, reference_device="cuda")
    model = room.load_baseline(files, where, timed.dtype)
    for name in wanted.baselines:
        progress.report("Timing", f"transformers, {name}")
        generate = room.generate_with_transformers(model, name)
        yield name, measure_speed(generate, wanted.speed.batches[0], timed.vocabulary, wanted.speed)


def _verdicts(
    wanted: Benchmark, timed: _Timed, baselines: Mapping[str, Speed]
) -> Iterator[Verdict]:
    first = timed.speeds[0]
    fastest = max((speed.tokens_per_second for speed in baselines.values()), default=None)
    speedup = None if fastest is None else first.tokens_per_second / fastest
    for name, measured, bound, is_minimum in (
        ("load_seconds", timed.load_seconds, wanted.max_load_seconds, False),
        ("first_token_seconds", first.first_token_seconds, wanted.max_first_token_seconds, False),
        ("tokens_per_second", first.tokens_per_second, wanted.min_tokens_per_second, True),
        ("speedup", speedup, wanted.min_speedup, True),
    ):
        if bound is not None:
            yield Verdict(name, measured, bound, is_minimum)


if __name__ == "__main__":
    main(run)
