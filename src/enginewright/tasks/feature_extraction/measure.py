"""Measure a feature extractor: the embedding of each sentence beside the reference's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from enginewright import progress
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.tasks.feature_extraction.feed import Feeder, SentenceEncoder
from enginewright.tasks.feature_extraction.pooling import Pooling, read_pooling
from enginewright.tasks.text_tokenizer import TextTokenizer
from enginewright.validation import held_out_text
from enginewright.validation.comparison import cosine_similarity
from enginewright.validation.lengths import choose_lengths
from enginewright.validation.measurement import Candidate, Coverage, Measured, ReferenceFiles, Run
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.reference_model import ReferenceModel

FEW, FEWEST = 8, 2
"""Windows of each short length, and of the longest."""
BATCH = 4

Row = Sequence[int]
Embedding = NDArray[np.float32]
Reference = Callable[[Row], Embedding]
"""Tokens of a sentence, its special tokens included -> [width]."""


def measure(
    candidate: Candidate,
    reference: ReferenceFiles,
    dataset: Path,
    request: MeasurementRequest,
) -> Measured:
    """Each line alone and in padded batches; then rows of tokens up to the longest."""
    pooling = read_pooling(reference.others)
    model = ReferenceModel.load(reference, request)
    lines = held_out_text.lines(held_out_text.read(dataset))
    rows = encode(candidate, reference, pooling, lines[: request.max_samples], model.vocabulary)

    def embed(row: Row) -> Embedding:
        with torch.inference_mode():
            states = model.module(input_ids=torch.tensor([list(row)])).last_hidden_state[0]
            return np.asarray(pooling.apply(states).numpy())

    measured = measure_rows(candidate, embed, rows, len(lines), request, pooling.longest)
    return Measured(
        measured.runs,
        measured.coverage,
        pooling.description,
        (*measured.notes, *model.notes()),
        measured.details,
    )


def encode(
    candidate: Candidate,
    reference: ReferenceFiles,
    pooling: Pooling,
    lines: Sequence[str],
    vocabulary: int,
) -> list[list[int]]:
    """As the engine's files say, prompt included.

    Raises `InputError` where those of the reference say otherwise, and for unknown token ids.
    """
    encoder = SentenceEncoder.load(candidate.files, "engine")
    own = TextTokenizer.load(reference.others, "reference")
    rows = [encoder.encode(line) for line in lines]
    problems: list[Problem] = []
    for number, (line, row) in enumerate(zip(lines, rows, strict=True), 1):
        try:
            own.check_same(pooling.prompt + line, row)
            encoder.tokenizer.check_vocabulary(row, vocabulary)
        except InputError as error:
            problems += [
                replace(problem, where=f"line {number}, {problem.where}")
                for problem in error.problems
            ]
    raise_if_any(problems)
    return rows


def measure_rows(
    candidate: Candidate,
    reference: Reference,
    rows: Sequence[Row],
    there: int,
    request: MeasurementRequest,
    cut: int | None = None,
) -> Measured:
    """`there`: lines of the dataset; `cut`: tokens that the checkpoint cuts a sentence to."""
    feeder = Feeder(candidate.interface, candidate.backend)
    limits = candidate.interface.limits
    tokens = [token for row in rows for token in row]
    lengths = choose_lengths(limits, request, len(tokens))
    batch = min(BATCH, limits.batch or BATCH)
    most = min(size for size in (cut, lengths.greatest, request.max_length) if size is not None)
    sentences = [row[:most] for row in rows]
    progress.report("Measuring", f"{len(sentences)} sentences")
    expected = [reference(sentence) for sentence in sentences]
    alone = list(_embed(feeder, sentences, 1))
    runs = [_compare("lines", 1, expected, alone, is_whole=True)]
    if batch > 1:
        together = list(_embed(feeder, sentences, batch))
        runs.append(_compare("lines", batch, expected, together, padding="right", is_whole=True))
    for length in lengths.measured:
        progress.report("Measuring", f"rows of {length} tokens")
        count = FEWEST if length == lengths.longest else FEW
        windows = held_out_text.spread(tokens, length, count)
        given = list(_embed(feeder, windows, min(batch, len(windows))))
        wanted = [reference(window) for window in windows]
        size = min(batch, len(windows))
        runs.append(_compare("rows of tokens", size, wanted, given, length=length))
    gaps = [*lengths.not_reached]
    if len(rows) < there:
        gaps.append(f"{there - len(rows)} of {there} lines of the dataset: `max_samples`")
    if batch == 1:
        gaps.append("more than one row at once: the engine takes one")
    shorter = sum(len(row) > most for row in rows)
    if shorter:
        gaps.append(f"the ends of {shorter} lines that are longer than {most} tokens")
    coverage = Coverage(
        len(rows), there, "lines", lengths.longest, lengths.greatest, batch, tuple(gaps)
    )
    details = {"sentences": _by_sentence(expected, alone)}
    return Measured(runs, coverage, "", details=details)


def _embed(feeder: Feeder, rows: Sequence[Row], size: int) -> Iterator[Embedding]:
    for first in range(0, len(rows), size):
        yield from feeder.embed(rows[first : first + size])


def _compare(
    name: str,
    batch: int,
    expected: Sequence[Embedding],
    actual: Sequence[Embedding],
    *,
    padding: str = "none",
    length: int | None = None,
    is_whole: bool = False,
) -> Run:
    run = Run(name, batch, padding, length, is_whole)
    wanted, given = np.stack(expected), np.stack(actual)
    run.comparison.add(wanted, given)
    if is_whole:
        run.comparison.add_choices(neighbours(wanted), neighbours(given))
    return run


def neighbours(vectors: Embedding) -> NDArray[np.int64]:
    """For each of [sentences, width], the nearest other by cosine; none for fewer than three.

    All embeddings may be alike to the third digit, and a cosine with the reference then sees
    nothing: which sentence is nearest is what they are for.
    """
    if len(vectors) < 3 or not np.isfinite(vectors).all():
        return np.zeros(0, np.int64)
    wide = vectors.astype(np.float64)
    units = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-300)
    cosine = units @ units.T
    np.fill_diagonal(cosine, -np.inf)
    # Equal sentences are equally near: the first of them, and not the last digit, decides.
    nearest = cosine >= cosine.max(axis=1, keepdims=True) - 1e-6
    return np.asarray(nearest.argmax(axis=1), np.int64)


def _by_sentence(
    expected: Sequence[Embedding], actual: Sequence[Embedding]
) -> list[dict[str, float | int | None]]:
    cosines = cosine_similarity(np.stack(expected), np.stack(actual))
    return [
        {"sentence": number, "cosine_similarity": float(cosine) if np.isfinite(cosine) else None}
        for number, cosine in enumerate(cosines, 1)
    ]
