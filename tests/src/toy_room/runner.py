"""Runs the toy: `python -m enginewright.run DIR --ids "3 5"`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

import numpy as np

from enginewright.run.argument import Argument
from enginewright.run.figures import Report
from enginewright.run.opened import OpenedEngine

TITLE = "the vector of a row's first word"
ARGUMENTS = (Argument("--ids", "token ids with blanks between them"),)


def check(given: Mapping[str, Any]) -> None:
    assert "ids" in given


def run(engine: OpenedEngine, given: Mapping[str, Any], stream: TextIO | None) -> Report:
    ids = np.array([[int(word) for word in given["ids"].split()]], np.int64)
    outputs, _ = engine.backend.run({"input_ids": ids}, ["first"])
    vector = [float(f"{value:.6g}") for value in outputs["first"][0]]
    if stream is not None:
        print(json.dumps(vector), file=stream)
    return Report({"first": vector}, "1 row")
