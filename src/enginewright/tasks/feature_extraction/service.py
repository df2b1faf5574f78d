"""Serves an engine that embeds: texts of all clients together, those of like length in one call."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.run.opened import OpenedEngine
from enginewright.serving.ask import Answer, Ask, Embed, Embedded, Started
from enginewright.serving.service import Capacity
from enginewright.tasks.feature_extraction.feed import Feeder, SentenceEncoder
from enginewright.tasks.feature_extraction.signature import EMBEDDINGS

WINDOW = 1024
"""Of so many texts, the oldest, those for a call are chosen."""
CLOSE = 1e-3
"""Greatest difference of one text's numbers between two batches, relative to the largest."""

Rows = tuple[tuple[int, ...], ...]


@dataclass
class Job:
    number: int
    rows: Rows
    vectors: dict[int, NDArray[np.float32]] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    job: Job
    place: int

    @property
    def tokens(self) -> tuple[int, ...]:
        return self.job.rows[self.place]


class EmbeddingService:
    asks: tuple[type[Ask], ...] = (Embed,)

    def __init__(self, engine: OpenedEngine, capacity: Capacity) -> None:
        self._where = engine.interface.where
        self._limits = engine.interface.limits
        self._vocabulary = engine.vocabulary
        self._encoder = SentenceEncoder.load(engine.files, self._where)
        self._feeder = Feeder(engine.interface, engine.backend)
        _check_pooled(engine)
        self.slots = min(capacity.slots, self._limits.batch or capacity.slots)
        self._budget = capacity.batch_tokens
        self._waiting: deque[Row] = deque()

    @property
    def is_idle(self) -> bool:
        return not self._waiting

    def prepare(self, ask: Ask) -> Rows:
        assert isinstance(ask, Embed)
        rows = tuple(
            tuple(self._encoder.encode(text)) if isinstance(text, str) else text
            for text in ask.texts
        )
        raise_if_any([problem for n, row in enumerate(rows) for problem in self._problems(n, row)])
        return rows

    def _problems(self, number: int, row: Sequence[int]) -> list[Problem]:
        where, limit = f"text {number + 1}", self._limits.total_sequence
        if not row:
            return [Problem("a text has no tokens", where, "at least one token", "0")]
        if limit is not None and len(row) > limit:
            expected, fix = f"at most {limit} tokens", "send it in parts"
            return [Problem("a text is too long", where, expected, str(len(row)), fix)]
        size = self._vocabulary or self._encoder.tokenizer.tokenizer.get_vocab_size()
        wrong = sorted({token for token in row if not 0 <= token < size})
        if wrong:
            what = "a token is not in the model's vocabulary"
            return [Problem(what, where, f"ids from 0 to {size - 1}", str(wrong[:10]))]
        return []

    def submit(self, number: int, job: Rows) -> None:
        joined = Job(number, job)
        self._waiting += [Row(joined, place) for place in range(len(job))]

    def cancel(self, number: int) -> None:
        self._waiting = deque(row for row in self._waiting if row.job.number != number)

    def advance(self) -> Sequence[tuple[int, Answer]]:
        chosen = self._choose()
        vectors = self._feeder.embed([row.tokens for row in chosen])
        if not np.isfinite(vectors).all():
            # No answer is better than one that is made of it.
            raise FloatingPointError("the engine computed a number that is none")
        answers: list[tuple[int, Answer]] = []
        for row, vector in zip(chosen, vectors, strict=True):
            job = row.job
            if not job.vectors:
                answers.append((job.number, Started(sum(map(len, job.rows)))))
            job.vectors[row.place] = vector
            if len(job.vectors) == len(job.rows):
                ordered = np.stack([job.vectors[place] for place in range(len(job.rows))])
                answers.append((job.number, Embedded(ordered)))
        return answers

    def _choose(self) -> list[Row]:
        """The oldest text, and those nearest to it in length: little is filled up."""
        window = [self._waiting[n] for n in range(min(WINDOW, len(self._waiting)))]
        order = sorted(range(len(window)), key=lambda n: len(window[n].tokens))
        first = last = order.index(0)
        while last + 1 - first < self.slots:
            can_lower = first > 0
            longest = len(window[order[last]].tokens)
            if can_lower and longest * (last + 2 - first) <= self._budget:
                first -= 1
                continue
            if last + 1 == len(order):
                break
            longest = len(window[order[last + 1]].tokens)
            if longest * (last + 2 - first) > self._budget:
                break
            last += 1
        taken = {order[n] for n in range(first, last + 1)}
        for _ in window:
            self._waiting.popleft()
        self._waiting.extendleft(row for n, row in reversed([*enumerate(window)]) if n not in taken)
        return [window[n] for n in sorted(taken)]

    def test(self) -> None:
        """Texts of several lengths, each alone and then in one call: the same vectors."""
        size = min(self._limits.total_sequence or 24, 24)
        rows = [self._encoder.encode(text)[:size] for text in ("a", "a test of it", "a " * size)]
        rows = [row for row in rows if row][: self.slots]
        alone = np.concatenate([self._feeder.embed([row]) for row in rows])
        together = self._feeder.embed(rows)
        # A comparison with what is no number is false, so it is asked this way round.
        if not np.abs(alone - together).max() <= CLOSE * np.abs(alone).max():
            what = "the engine computes other vectors in a batch than alone"
            actual = f"they differ by {np.abs(alone - together).max():.3g}"
            raise InputError(Problem(what, self._where, f"within {CLOSE:g}", actual))


def _check_pooled(engine: OpenedEngine) -> None:
    shape = engine.interface.output(EMBEDDINGS.name, "embed text").shape
    if len(shape) != 2:
        what = "the engine gives a vector for each token, and none for a text"
        raise InputError(Problem(what, engine.interface.where, "[batch, hidden]", str([*shape])))


def open_service(engine: OpenedEngine, capacity: Capacity) -> EmbeddingService:
    return EmbeddingService(engine, capacity)
