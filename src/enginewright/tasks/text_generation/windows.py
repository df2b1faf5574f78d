"""One way to feed windows of text to an engine, compared with the reference row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from enginewright.tasks.padding import Tokens, pad, place_of
from enginewright.tasks.text_generation.feed import Feeder, Logits
from enginewright.validation.comparison import Comparison
from enginewright.validation.measurement import Run

Window = Sequence[int]
"""Tokens of a row, and the one that follows them."""
DECODED = 16
"""Tokens at the end of a row that are fed one at a time."""


def shorten(rows: Sequence[Window]) -> tuple[Window, ...]:
    """Rows of different lengths: the first whole, each next a quarter shorter, at least 2."""
    return tuple(
        row[: max(2, len(row) - len(row) * (number % 4) // 4)] for number, row in enumerate(rows)
    )


@dataclass
class WindowRun:
    name: str
    batch_size: int
    padding: str = "none"
    """`none`, or the side on which shorter windows are filled up."""
    decode: bool = False
    """The last tokens of each row are fed one at a time, after a prefill."""
    by_token: bool = False
    """The same from the first token on, where an engine with a cache gives last logits alone."""
    is_whole: bool = False
    comparison: Comparison = field(default_factory=Comparison)

    def to_run(self, length: int | None) -> Run:
        return Run(self.name, self.batch_size, self.padding, length, self.is_whole, self.comparison)

    def add(self, feeder: Feeder, windows: Sequence[Window], expected: Sequence[Logits]) -> None:
        """Windows have one token more than `expected` [sequence, vocabulary] has rows."""
        for first in range(0, len(windows), self.batch_size):
            part = slice(first, first + self.batch_size)
            self._add_batch(feeder, windows[part], expected[part])

    def _add_batch(
        self, feeder: Feeder, windows: Sequence[Window], expected: Sequence[Logits]
    ) -> None:
        inputs: Sequence[Window] = [window[:-1] for window in windows]
        targets: Sequence[Window] = [window[1:] for window in windows]
        if self.padding != "none":
            inputs, targets = shorten(inputs), shorten(targets)
        side = "right" if self.padding == "none" else self.padding
        ids, mask = pad(inputs, side)
        logits, columns = self._feed(feeder, ids, mask, min(map(len, inputs)))
        for row, (given, following) in enumerate(zip(inputs, targets, strict=True)):
            place = place_of(len(given), ids.shape[1], side)
            shown = [c for c in columns if place.start <= c < place.stop]
            candidate = logits[row, [columns.index(c) for c in shown]]
            rows = [c - place.start for c in shown]
            wanted = np.array(following, np.int64)[rows]
            self.comparison.add(expected[row][rows], candidate)
            self.comparison.add_predictions(expected[row][rows], candidate, wanted)

    def _feed(
        self, feeder: Feeder, ids: Tokens, mask: Tokens, shortest: int
    ) -> tuple[Logits, list[int]]:
        """Logits [batch, columns, vocabulary], and which columns of `ids` they are of."""
        length = ids.shape[1]
        steps = 0
        if feeder.has_cache and self.decode:
            steps = min(DECODED, shortest - 1)
        elif feeder.has_cache and self.by_token:
            steps = length - 1
        parts = [feeder.read(ids[:, : length - steps], mask[:, : length - steps])]
        for column in range(length - steps, length):
            here = slice(column, column + 1)
            parts.append(feeder.append(ids[:, here], mask[:, here]))
        logits = np.concatenate(parts, axis=1)
        first = length - steps - 1 if feeder.last_only or self.decode else 0
        return logits[:, logits.shape[1] - (length - first) :], [*range(first, length)]
