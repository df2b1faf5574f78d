"""Measure the toy: rows of ids, one a line of the dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from enginewright.validation.measurement import Candidate, Coverage, Measured, ReferenceFiles, Run
from enginewright.validation.measurement_request import MeasurementRequest


def measure(
    candidate: Candidate, reference: ReferenceFiles, dataset: Path, request: MeasurementRequest
) -> Measured:
    rows = [[int(word) for word in line.split()] for line in dataset.read_text().splitlines()]
    shown = rows[: request.max_samples]
    table = load_file(reference.weights[0])["embeddings.word_embeddings.weight"]
    run = Run("rows", 1, is_whole=True)
    for row in shown:
        ids = np.array([row], np.int64)
        outputs, _ = candidate.backend.run({"input_ids": ids}, ["first"])
        run.comparison.add(table[row[:1]], outputs["first"])
    longest = max(map(len, rows))
    coverage = Coverage(len(shown), len(rows), "rows", longest, None, 1)
    return Measured([run], coverage, "the table of words")
