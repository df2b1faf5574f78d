"""Feeds arrays to an engine: `run DIR --tensors FILE.npz` gives one JSON object a call."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from enginewright.engines.backend import Array
from enginewright.errors import InputError, Problem
from enginewright.run.argument import Argument
from enginewright.run.figures import Report, memory, memory_text
from enginewright.run.opened import OpenedEngine
from enginewright.tasks.raw_tensors.feed import read_calls

TITLE = "compute the outputs of arrays"
ARGUMENTS = (
    Argument("--tensors", "an .npz file with an array for each input, or of several calls", Path),
    Argument("--output", "write the arrays to this .npz file, and say only their shapes", Path),
)


def check(given: Mapping[str, Any]) -> None:
    """Raise `InputError` without arrays."""
    if "tensors" not in given:
        raise InputError(Problem("nothing to compute", "the command line", "--tensors FILE.npz"))


def run(engine: OpenedEngine, given: Mapping[str, Any], stream: TextIO | None) -> Report:
    """Raises `InputError` for arrays that the engine does not take."""
    calls = read_calls(engine.interface, given["tensors"])
    outputs = engine.interface.names("output")
    target = given.get("output")
    written: dict[str, Array] = {}
    results = []
    begin = time.monotonic()
    for number, call in enumerate(calls):
        arrays, _ = engine.backend.run(call, outputs)
        if target is not None:
            end = f"/{number}" if len(calls) > 1 else ""
            written |= {f"{name}{end}": array for name, array in arrays.items()}
        result = {name: _described(array, target is None) for name, array in arrays.items()}
        results.append(result)
        if stream is not None:
            print(json.dumps(result), file=stream, flush=True)
    seconds = max(time.monotonic() - begin, 1e-9)
    if target is not None:
        np.savez(target, **written, allow_pickle=False)
    speed = f"{len(calls)} calls, {len(calls) / seconds:.1f} calls/s"
    document = {"outputs": results, "calls": len(calls), **memory(engine.backend)}
    return Report(document, f"{speed}, {memory_text(engine.backend)}")


def _described(array: Array, with_values: bool) -> dict[str, Any]:
    said: dict[str, Any] = {"dtype": str(array.dtype), "shape": list(array.shape)}
    return {**said, "values": _values(array)} if with_values else said


def _values(array: Array) -> Any:
    """Seven digits of each number, as float32 has; what JSON lacks (NaN, infinities) as text."""
    if array.dtype.kind != "f":
        return array.tolist()
    if array.ndim:
        return [_values(part) for part in array]
    number = float(array)
    return float(f"{number:.7g}") if np.isfinite(number) else str(number)
