"""A language model's engine on its device, against float64, beside PyTorch in the engine's type."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from enginewright import progress
from enginewright.device.comparison import DeviceComparison, Generated
from enginewright.engines.backend import Greedy
from enginewright.tasks.text_generation.feed import Feeder
from enginewright.tasks.text_generation.measure import WHOLE_WINDOW, measure_tokens, read_tokens
from enginewright.tasks.text_generation.reference import logits_of
from enginewright.validation import held_out_text
from enginewright.validation.comparison import Comparison
from enginewright.validation.measurement import Candidate, Measured, ReferenceFiles
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.reference_model import ReferenceModel

ROWS, PROMPT, ANSWER = 4, 16, 64
"""Texts that are generated, and the tokens of each."""


def compare(
    candidate: Candidate, reference: ReferenceFiles, dataset: Path, request: MeasurementRequest
) -> DeviceComparison:
    """`request` says the reference's type and device; raises `InputError` as `measure` does."""
    tokens = read_tokens(candidate, reference, dataset)
    exact = ReferenceModel.load(reference, request, auto="AutoModelForCausalLM")
    feeder = Feeder(candidate.interface, candidate.backend)
    measured = measure_tokens(feeder, candidate, lambda row: logits_of(exact, row), tokens, request)
    notes = (*measured.notes, *exact.notes())
    measured = Measured(measured.runs, measured.coverage, measured.reference, notes)
    progress.report("Measuring", "PyTorch in the engine's type")
    plain = _same_type(request, feeder.logits.dtype)
    eager = ReferenceModel.load(reference, plain, auto="AutoModelForCausalLM")
    beside = _compare_models(eager, exact, tokens, request)
    del eager
    return DeviceComparison(
        measured, beside, plain.reference_dtype, _generate(candidate, exact, tokens)
    )


def _same_type(request: MeasurementRequest, dtype: str) -> MeasurementRequest:
    return dataclasses.replace(request, reference_dtype=dtype)  # type: ignore[arg-type]


def _compare_models(
    model: ReferenceModel,
    exact: ReferenceModel,
    tokens: Sequence[int],
    request: MeasurementRequest,
) -> Comparison:
    """The windows that the engine's whole run has."""
    found = Comparison()
    size = min(WHOLE_WINDOW, request.max_length, len(tokens) - 1)
    for window in held_out_text.consecutive(tokens, size)[: request.max_samples]:
        right, given = (logits_of(one, window[:-1]) for one in (exact, model))
        found.add(right, given)
        found.add_predictions(right, given, np.array(window[1:], np.int64))
    return found


def _generate(
    candidate: Candidate, exact: ReferenceModel, tokens: Sequence[int]
) -> Generated | None:
    """How many tokens of greedy texts the reference would take too, after the same ones."""
    backend = candidate.backend
    if not isinstance(backend, Greedy):
        return None
    rows = min(ROWS, candidate.interface.limits.batch or ROWS)
    prompts = np.array(held_out_text.spread(tokens, PROMPT, rows), np.int64)
    texts = np.concatenate([prompts, *backend.greedy(prompts, ANSWER, ANSWER)], axis=1)
    same = 0
    for text in texts:
        right = logits_of(exact, text[:-1].tolist())[PROMPT - 1 :].argmax(-1)
        same += int((right == text[PROMPT:]).sum())
    return Generated(len(texts) * ANSWER, same)
