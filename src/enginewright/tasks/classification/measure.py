"""Measure a classifier: the logits of each line, or of its tokens, beside the reference's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from enginewright import progress
from enginewright.tasks.classification.feed import Feeder, Row, encode
from enginewright.tasks.classification.signature import TOKEN_TYPE_IDS
from enginewright.tasks.registry import find_task
from enginewright.tasks.text_tokenizer import TextTokenizer
from enginewright.validation import held_out_text
from enginewright.validation.lengths import choose_lengths
from enginewright.validation.measurement import Candidate, Coverage, Measured, ReferenceFiles, Run
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.reference_model import ReferenceModel

FEW = 4
"""Windows of each length."""
BATCH = 4

Logits = NDArray[np.float32]
Reference = Callable[[Row], Logits]
"""[labels], or [tokens, labels]."""


def measure(
    candidate: Candidate,
    reference: ReferenceFiles,
    dataset: Path,
    request: MeasurementRequest,
) -> Measured:
    """Each line alone and in padded batches; then rows of tokens up to the longest."""
    task = find_task(request.task, "parameters, task")
    model = ReferenceModel.load(reference, request, auto=f"AutoModel{task.classes}")
    text = held_out_text.read(dataset)
    lines = [line.strip("\r") for line in text.split("\n") if line.strip()]
    rows = _encode(candidate, reference, lines[: request.max_samples], model.vocabulary)
    names = candidate.interface.names("input")

    def classify(row: Row) -> Logits:
        inputs = {"input_ids": row.ids}
        # Without the input the library takes zeros, and so must the engine.
        if TOKEN_TYPE_IDS.name in names:
            inputs[TOKEN_TYPE_IDS.name] = row.types
        with torch.inference_mode():
            tensors = {
                name: torch.tensor([list(value)], device=model.device)
                for name, value in inputs.items()
            }
            return np.asarray(model.module(**tensors).logits[0].cpu().numpy())

    measured = measure_rows(candidate, classify, rows, len(lines), request)
    notes = (*measured.notes, *model.notes())
    return Measured(measured.runs, measured.coverage, measured.reference, notes)


def _encode(
    candidate: Candidate, reference: ReferenceFiles, lines: Sequence[str], vocabulary: int
) -> list[Row]:
    """Raises `InputError` where the reference's tokenizer reads a line otherwise."""
    tokenizer = TextTokenizer.load(candidate.files, "engine")
    own = TextTokenizer.load(reference.others, "reference")
    rows = [encode(tokenizer, line) for line in lines]
    for line, row in zip(lines, rows, strict=True):
        own.check_equal(encode(own, line).ids, row.ids)
        tokenizer.check_vocabulary(row.ids, vocabulary)
    return rows


def measure_rows(
    candidate: Candidate,
    reference: Reference,
    rows: Sequence[Row],
    there: int,
    request: MeasurementRequest,
) -> Measured:
    """`there`: lines of the dataset."""
    feeder = Feeder(candidate.interface, candidate.backend)
    limits = candidate.interface.limits
    tokens = [token for row in rows for token in row.ids]
    lengths = choose_lengths(limits, request, len(tokens))
    batch = min(BATCH, limits.batch or BATCH)
    most = lengths.greatest or max(len(row.ids) for row in rows)
    lines = [Row(row.ids[:most], row.types[:most]) for row in rows]
    progress.report("Measuring", f"{len(lines)} lines")
    expected = [reference(line) for line in lines]
    runs = [_compare("lines", 1, expected, _classify(feeder, lines, 1), is_whole=True)]
    if batch > 1:
        together = _classify(feeder, lines, batch)
        runs.append(_compare("lines", batch, expected, together, padding="right", is_whole=True))
    for length in lengths.measured:
        progress.report("Measuring", f"rows of {length} tokens")
        spread = held_out_text.spread(tokens, length, FEW)
        windows = [Row(window, (0,) * length) for window in spread]
        wanted = [reference(window) for window in windows]
        size = min(batch, len(windows))
        given = _classify(feeder, windows, size)
        runs.append(_compare("rows of tokens", size, wanted, given, length=length))
    gaps = [*lengths.not_reached]
    if len(rows) < there:
        gaps.append(f"{there - len(rows)} of {there} lines of the dataset: `max_samples`")
    if batch == 1:
        gaps.append("more than one row at once: the engine takes one")
    shorter = sum(len(row.ids) > most for row in rows)
    if shorter:
        gaps.append(f"the ends of {shorter} lines that are longer than {most} tokens")
    coverage = Coverage(
        len(rows), there, "lines", lengths.longest, lengths.greatest, batch, tuple(gaps)
    )
    kind = "tokens" if expected[0].ndim == 2 else "lines, a pair where a tab divides them"
    return Measured(runs, coverage, f"the class's logits of {kind}, one row at a time")


def _classify(feeder: Feeder, rows: Sequence[Row], size: int) -> list[Logits]:
    return [*_batches(feeder, rows, size)]


def _batches(feeder: Feeder, rows: Sequence[Row], size: int) -> Iterator[Logits]:
    for first in range(0, len(rows), size):
        yield from feeder.classify(rows[first : first + size])


def _compare(
    name: str,
    batch: int,
    expected: Sequence[Logits],
    actual: Sequence[Logits],
    *,
    padding: str = "none",
    length: int | None = None,
    is_whole: bool = False,
) -> Run:
    run = Run(name, batch, padding, length, is_whole)
    wanted = np.concatenate([np.atleast_2d(logits) for logits in expected])
    given = np.concatenate([np.atleast_2d(logits) for logits in actual])
    run.comparison.add(wanted, given)
    if wanted.shape[-1] > 1:
        run.comparison.add_choices(wanted.argmax(-1), given.argmax(-1))
    return run
