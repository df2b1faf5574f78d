from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from enginewright.validation import language_model
from enginewright.validation.language_model import pad, shorten
from enginewright.validation.measurement_request import MeasurementRequest

VOCABULARY = 5
RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(VOCABULARY, VOCABULARY)).astype(np.float32)
"""Logits of the token that follows each token."""


def sums(ids: np.ndarray) -> np.ndarray:
    """A causal model: the logits of a position are those of all tokens up to it."""
    return np.cumsum(TABLE[ids], axis=1)


class Reference:
    def logits(self, ids: np.ndarray) -> np.ndarray:
        return sums(ids)


class Candidate:
    """The same model, with a cache of the sum so far, and a fault to choose."""

    input_names = ("input_ids", "attention_mask", "position_ids", "past_key_values.0.key")

    def __init__(self, *, fault: str = "", last: bool = False) -> None:
        self.fault, self.last_logits_only = fault, last

    def run(
        self, ids: np.ndarray, mask: np.ndarray, past: dict[str, np.ndarray] | None = None
    ) -> dict[str, np.ndarray]:
        here = mask[:, -ids.shape[1] :]
        table = TABLE[ids] * (1 if self.fault == "ignores the mask" else here[:, :, None])
        logits = np.cumsum(table, axis=1)
        if past and self.fault != "forgets the past":
            logits = logits + past["past_key_values.0.key"][:, None]
        present = logits[:, -1].copy()
        if self.fault == "looks ahead":
            logits = logits + (logits[:, -1:] - logits)
        if self.fault == "off by a quarter":
            logits = logits + np.array([0.25, 0, 0, 0, 0], np.float32)
        if self.fault == "overflows":
            logits[0, -1, 2] = np.inf
        shown = logits[:, -1:] if self.last_logits_only else logits
        return {"logits": shown, "present.0.key": present}


def measure(candidate: Candidate) -> dict[str, Any]:
    request = MeasurementRequest("text-generation", 16, (4, 9), (1, 3), windows=5)
    tokens = RANDOM.integers(1, VOCABULARY, 60).tolist()
    model: Any = candidate
    reference: Any = Reference()
    return language_model.measure(model, reference, tokens, request)


def broken_runs(candidate: Candidate) -> set[tuple[str, bool]]:
    runs = measure(candidate)["runs"]
    return {(run["padding"], run["with_past"]) for run in runs if run["max_absolute_error"] > 1e-4}


def test_the_totals_perplexity_is_that_of_whole_windows_without_a_cache() -> None:
    measured = measure(Candidate(fault="off by a quarter"))
    assert len(measured["runs"]) == 10
    whole = [r for r in measured["runs"] if r["padding"] == "none" and not r["with_past"]]
    losses, rows = ([row[i] for row in map(loss_and_rows, whole)] for i in (0, 1))
    assert sum(rows) == 2 * 5 * (4 + 9)
    assert measured["total"]["perplexity"] == pytest.approx(np.exp(sum(losses) / sum(rows)))


def loss_and_rows(run: dict[str, Any]) -> tuple[float, int]:
    return np.log(run["perplexity"]) * run["rows"], run["rows"]


def test_padding_and_mask() -> None:
    ids, mask = pad([(1, 2, 3), (4,)])
    assert ids.tolist() == [[1, 2, 3], [4, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    ids, mask = pad([(1, 2, 3), (4,)], "left")
    assert ids.tolist() == [[1, 2, 3], [0, 0, 4]]
    assert mask.tolist() == [[1, 1, 1], [0, 0, 1]]


def test_shortened_windows_have_different_lengths() -> None:
    assert [len(window) for window in shorten([tuple(range(8))] * 5)] == [8, 6, 4, 2, 8]


def test_every_length_batch_size_padding_and_the_cache_are_measured() -> None:
    numbers = measure(Candidate())
    assert [
        (run["sequence_length"], run["batch_size"], run["padding"], run["with_past"], run["rows"])
        for run in numbers["runs"]
    ] == [
        (4, 1, "none", False, 20),
        (4, 3, "none", False, 20),
        (4, 3, "right", False, 16),
        (4, 3, "left", False, 16),
        (4, 3, "none", True, 20),
        (9, 1, "none", False, 45),
        (9, 3, "none", False, 45),
        (9, 3, "right", False, 37),
        (9, 3, "left", False, 37),
        (9, 3, "none", True, 45),
    ]
    total = numbers["total"]
    assert total["rows"] == 301
    assert total["mean_cosine_similarity"] == pytest.approx(1.0)
    assert total["max_absolute_error"] < 1e-5
    assert total["top1_agreement"] == 1.0
    assert total["perplexity"] == pytest.approx(total["reference_perplexity"])


@pytest.mark.parametrize(
    ("fault", "runs"),
    [
        ("ignores the mask", {("left", False)}),
        ("forgets the past", {("none", True)}),
        ("looks ahead", {("none", False), ("right", False), ("left", False), ("none", True)}),
    ],
)
def test_a_fault_shows_in_the_runs_that_it_breaks(fault: str, runs: set[tuple[str, bool]]) -> None:
    assert broken_runs(Candidate(fault=fault)) == runs


def test_a_constant_error_is_measured() -> None:
    total = measure(Candidate(fault="off by a quarter"))["total"]
    assert total["max_absolute_error"] == pytest.approx(0.25, abs=1e-5)
    assert total["perplexity"] != pytest.approx(total["reference_perplexity"], rel=1e-3)


def test_infinities_are_counted() -> None:
    total = measure(Candidate(fault="overflows"))["total"]
    assert total["inf_count"] > 0
    assert total["mean_cosine_similarity"] == pytest.approx(1.0)


def test_last_logits_are_compared_with_the_last_token() -> None:
    numbers = measure(Candidate(last=True))
    assert {(run["padding"], run["rows"]) for run in numbers["runs"]} == {("none", 5), ("left", 5)}
    assert numbers["total"]["max_absolute_error"] < 1e-5
    assert numbers["total"]["perplexity"] == pytest.approx(numbers["total"]["reference_perplexity"])
