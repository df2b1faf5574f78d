"""Every way to feed a language model, on a model of two lines whose faults can be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from enginewright.engines.limits import Limits
from enginewright.engines.tensor import EngineTensor
from enginewright.tasks.interface import Interface
from enginewright.tasks.text_generation.feed import Feeder
from enginewright.tasks.text_generation.measure import measure_tokens
from enginewright.tasks.text_generation.windows import shorten
from enginewright.validation.measurement import Candidate, Measured
from enginewright.validation.measurement_request import MeasurementRequest

VOCABULARY = 5
RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(VOCABULARY, VOCABULARY)).astype(np.float32)
"""Logits of the token that follows each token."""
PAST = "past_key_values.0.key"
TOKENS = RANDOM.integers(1, VOCABULARY, 200).tolist()


def sums(tokens: Sequence[int]) -> np.ndarray:
    """A causal model: the logits of a position are those of all tokens up to it, and its place."""
    places = np.sin(np.arange(len(tokens)))[:, None]
    return np.cumsum(TABLE[[*tokens]] + places, axis=0)


class Model:
    """The same model, with a cache of the sum so far, and a fault to choose."""

    def __init__(self, fault: str, *, last: bool) -> None:
        self.fault, self.last = fault, last

    def empty(self, name: str, batch: int) -> np.ndarray:
        assert name == PAST
        return np.zeros((batch, VOCABULARY), np.float32)

    def run(
        self, inputs: dict[str, np.ndarray], outputs: list[str], held: tuple[str, ...] = ()
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        ids, positions = inputs["input_ids"], inputs["position_ids"].copy()
        here = inputs["attention_mask"][:, -ids.shape[1] :]
        if self.fault == "positions end at 63":
            positions = np.minimum(positions, 63)
        if self.fault == "counts masked positions":
            past = inputs["attention_mask"].shape[1] - ids.shape[1]
            positions = np.broadcast_to(past + np.arange(ids.shape[1]), ids.shape)
        table = TABLE[ids] + np.sin(positions)[:, :, None]
        table = table * (1 if self.fault == "ignores the mask" else here[:, :, None])
        logits = np.cumsum(table, axis=1)
        if self.fault != "forgets the past":
            logits = logits + inputs[PAST][:, None]
        present = logits[:, -1].copy()
        if self.fault == "looks ahead":
            logits = logits + (logits[:, -1:] - logits)
        if self.fault == "mixes rows":
            logits = logits.mean(axis=0, keepdims=True).repeat(len(ids), axis=0)
        if self.fault == "off by a quarter":
            logits = logits + np.array([0.25, 0, 0, 0, 0], np.float32)
        if self.fault == "overflows":
            logits[0, -1, 2] = np.inf
        shown = logits[:, -1:] if self.last else logits
        return dict.fromkeys(outputs, shown), dict.fromkeys(held, present)

    def device_bytes(self) -> None:
        return None


def engine(*, last: bool = False, **limits: int) -> Interface:
    row = ("batch", "sequence")
    logits = ("batch", 1 if last else "sequence", VOCABULARY)
    return Interface(
        "an engine",
        (
            EngineTensor("input_ids", "input", "int64", row),
            EngineTensor("attention_mask", "input", "int64", ("batch", "total_sequence")),
            EngineTensor("position_ids", "input", "int64", row),
            EngineTensor(PAST, "input", "float32", ("batch", VOCABULARY)),
            EngineTensor("logits", "output", "float32", logits),
        ),
        Limits(**limits),
    )


def measure(
    fault: str = "", *, last: bool = False, limits: dict[str, int] | None = None, **request: Any
) -> Measured:
    interface = engine(last=last, **(limits or {"total_sequence": 100}))
    backend: Any = Model(fault, last=last)
    wanted = MeasurementRequest("text-generation", **request)
    candidate = Candidate(interface, backend, {})
    return measure_tokens(Feeder(interface, backend), candidate, sums, TOKENS, wanted)


def broken(fault: str) -> set[tuple[str, int | None, str]]:
    return {
        (run.name, run.sequence_length, run.padding)
        for run in measure(fault).runs
        if run.comparison.max_absolute_error > 1e-3
    }


DECODE = "prefill, then a token at a time"


def test_every_length_batch_size_padding_and_the_cache_are_measured() -> None:
    measured = measure()
    assert [
        (run.name, run.sequence_length, run.batch_size, run.padding, run.comparison.rows)
        for run in measured.runs
    ] == [
        ("whole dataset", None, 3, "none", 199),
        ("rows", 17, 1, "none", 136),
        ("rows", 17, 3, "none", 136),
        ("rows", 17, 3, "right", 108),
        ("rows", 17, 3, "left", 108),
        (DECODE, 17, 3, "left", 80),
        ("rows", 64, 1, "none", 512),
        ("rows", 64, 3, "none", 512),
        ("rows", 64, 3, "right", 400),
        ("rows", 64, 3, "left", 400),
        (DECODE, 64, 3, "left", 136),
        ("rows", 100, 1, "none", 200),
        ("rows", 100, 2, "none", 200),
        ("rows", 100, 2, "right", 175),
        ("rows", 100, 2, "left", 175),
        (DECODE, 100, 2, "left", 34),
    ]
    total = measured.total().to_json()
    assert total["rows"] == 3511
    assert total["max_absolute_error"] < 1e-4
    assert total["top1_agreement"] == 1.0
    assert total["perplexity"] == pytest.approx(total["reference_perplexity"])
    coverage = measured.coverage
    assert (coverage.longest, coverage.greatest, coverage.not_reached) == (100, 100, ())
    assert (coverage.samples, coverage.samples_there) == (199, 199)


@pytest.mark.parametrize(
    ("fault", "lengths", "kinds"),
    [
        ("ignores the mask", {17, 64, 100}, {("rows", "left"), (DECODE, "left")}),
        ("counts masked positions", {17, 64, 100}, {("rows", "left"), (DECODE, "left")}),
        ("forgets the past", {17, 64, 100}, {(DECODE, "left")}),
        (
            "mixes rows",
            {17, 64, 100},
            {("rows", "none"), ("rows", "right"), ("rows", "left"), (DECODE, "left")},
        ),
    ],
)
def test_a_fault_shows_in_the_runs_that_it_breaks(
    fault: str, lengths: set[int], kinds: set[tuple[str, str]]
) -> None:
    found = broken(fault)
    assert {length for _, length, _ in found} == lengths
    assert {(name, padding) for name, _, padding in found} == kinds


def test_a_fault_beyond_the_short_lengths_is_reached() -> None:
    assert {length for _, length, _ in broken("positions end at 63")} == {None, 100}


def test_the_totals_perplexity_is_that_of_the_whole_dataset() -> None:
    measured = measure("off by a quarter")
    whole = measured.runs[0].comparison.to_json()
    total = measured.total().to_json()
    assert total["perplexity"] == whole["perplexity"]
    assert total["perplexity_increase"] > 5e-4
    assert total["max_absolute_error"] == pytest.approx(0.25, abs=1e-4)


def test_infinities_are_counted() -> None:
    total = measure("overflows").total().to_json()
    assert total["inf_count"] > 0
    assert total["mean_cosine_similarity"] == pytest.approx(1.0)


def test_an_engine_with_a_cache_and_last_logits_is_measured_token_by_token() -> None:
    measured = measure(last=True)
    assert measured.runs[0].comparison.rows == 199
    assert {(run.padding, run.name) for run in measured.runs[1:]} == {
        ("none", "rows"),
        ("left", "rows"),
        ("left", DECODE),
    }
    assert measured.total().max_absolute_error < 1e-4


def test_what_is_not_reached_is_said() -> None:
    measured = measure(limits={"total_sequence": 5000, "batch": 1}, max_length=80, max_samples=2)
    assert measured.coverage.not_reached == (
        "rows of 81 to 5000 tokens: `max_length` is 80",
        "more than one row at once: the engine takes one",
        "39 of 199 tokens of the dataset: `max_samples`",
    )
    assert {run.batch_size for run in measured.runs} == {1}


def test_a_dataset_that_is_too_short_for_the_longest_row_is_said() -> None:
    measured = measure(limits={"total_sequence": 5000})
    assert measured.coverage.longest == 199
    assert measured.coverage.not_reached == (
        "rows of 200 to 5000 tokens: the dataset has 199 tokens",
    )


def test_prompts_longer_than_a_call_are_fed_in_parts() -> None:
    measured = measure(limits={"total_sequence": 100, "sequence": 7})
    assert measured.coverage.longest == 100
    assert measured.total().max_absolute_error < 1e-4


def test_shortened_windows_have_different_lengths() -> None:
    assert [len(window) for window in shorten([tuple(range(8))] * 5)] == [8, 6, 4, 2, 8]
