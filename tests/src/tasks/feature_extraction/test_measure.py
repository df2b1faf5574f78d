"""Every way to feed a feature extractor, on one of a few lines whose faults can be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from enginewright.engines.limits import Limits
from enginewright.engines.tensor import EngineTensor
from enginewright.tasks.feature_extraction.measure import measure_rows, neighbours
from enginewright.tasks.interface import Interface
from enginewright.validation.measurement import Candidate, Measured
from enginewright.validation.measurement_request import MeasurementRequest

TABLE = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)
ROWS = [[(7 * row + 3 * token) % 20 for token in range(2 + row % 9)] for row in range(30)]
TOKENS = sum(map(len, ROWS))


def mean(row: Sequence[int]) -> np.ndarray:
    return TABLE[[*row]].mean(axis=0)


class Model:
    def __init__(self, fault: str) -> None:
        self.fault = fault

    def run(
        self, inputs: dict[str, np.ndarray], outputs: list[str]
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        ids, mask = inputs["input_ids"], inputs["attention_mask"][:, :, None]
        if self.fault == "ignores the mask":
            mask = np.ones_like(mask)
        if self.fault == "sees 64 tokens":
            ids, mask = ids[:, :64], mask[:, :64]
        vectors = (TABLE[ids] * mask).sum(axis=1) / mask.sum(axis=1)
        return dict.fromkeys(outputs, vectors), {}


def measure(fault: str = "", *, cut: int | None = None, **request: Any) -> Measured:
    row = ("batch", "sequence")
    names = ("input_ids", "attention_mask")
    inputs = [EngineTensor(name, "input", "int64", row) for name in names]
    output = EngineTensor("embeddings", "output", "float32", ("batch", 8))
    interface = Interface("an engine", (*inputs, output), Limits(total_sequence=100))
    backend: Any = Model(fault)
    wanted = MeasurementRequest("feature-extraction", **request)
    candidate = Candidate(interface, backend, {})
    return measure_rows(candidate, mean, ROWS[: wanted.max_samples], len(ROWS), wanted, cut)


def broken(fault: str) -> set[tuple[str, str, int | None]]:
    return {
        (run.name, run.padding, run.sequence_length)
        for run in measure(fault).runs
        if run.comparison.max_absolute_error > 1e-4
    }


def test_all_lines_alone_and_together_and_rows_up_to_the_longest() -> None:
    measured = measure()
    assert [
        (run.name, run.batch_size, run.padding, run.sequence_length, run.comparison.rows)
        for run in measured.runs
    ] == [
        ("lines", 1, "none", None, 30),
        ("lines", 4, "right", None, 30),
        ("rows of tokens", 4, "none", 17, 8),
        ("rows of tokens", 4, "none", 64, 8),
        ("rows of tokens", 2, "none", 100, 2),
    ]
    total = measured.total().to_json()
    assert total["max_absolute_error"] < 1e-5
    assert total["top1_agreement"] == 1.0
    assert "perplexity" not in total
    assert len(measured.details["sentences"]) == 30
    assert measured.coverage.not_reached == ()


def test_faults_show_in_the_runs_that_they_break() -> None:
    assert broken("ignores the mask") == {("lines", "right", None)}
    assert broken("sees 64 tokens") == {("rows of tokens", "none", 100)}


def test_a_cosine_near_one_does_not_hide_that_other_sentences_are_near() -> None:
    vectors = 100 + np.random.default_rng(2).normal(size=(30, 8))
    other = 100 + np.random.default_rng(3).normal(size=(30, 8))
    units = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (vectors, other)]
    assert (units[0] * units[1]).sum(axis=1).min() > 0.999
    assert (neighbours(vectors) == neighbours(other)).mean() < 0.3


def test_nearest_sentences_by_hand() -> None:
    vectors = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]], np.float32)
    assert neighbours(vectors).tolist() == [1, 0, 3, 2]
    same = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], np.float32)
    assert neighbours(same).tolist() == [1, 0, 0]
    assert neighbours(vectors[:2]).tolist() == []


def test_what_is_left_out_is_said() -> None:
    measured = measure(max_samples=20, cut=6, max_length=50)
    longer = sum(len(row) > 6 for row in ROWS[:20])
    assert measured.coverage.not_reached == (
        "rows of 51 to 100 tokens: `max_length` is 50",
        "10 of 30 lines of the dataset: `max_samples`",
        f"the ends of {longer} lines that are longer than 6 tokens",
    )
    assert longer == 8


@pytest.mark.parametrize("lines", [1, 2, 7])
def test_a_dataset_of_few_lines_is_enough(lines: int) -> None:
    assert measure(max_samples=lines).runs[0].comparison.rows == lines
