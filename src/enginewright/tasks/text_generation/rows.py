"""Rows of tokens that an engine continues together, and that come and go one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from enginewright.tasks.padding import pad
from enginewright.tasks.text_generation.decoder import recompute
from enginewright.tasks.text_generation.feed import Feeder, Logits


class Reading:
    """Prompts that are being read, a part at a time, so that others need not wait for long."""

    def __init__(self, feeder: Feeder, prompts: Sequence[Sequence[int]]) -> None:
        self.feeder = feeder
        self.prompts = prompts
        self._ids, self._mask = pad(prompts, "left")
        self._read = 0

    def read(self, tokens: int) -> Logits | None:
        """Read about so many tokens; logits [rows, vocabulary] after the last, None before.

        An engine without a cache keeps nothing between calls, so it reads all.
        """
        if not self.feeder.has_cache:
            return recompute(self.feeder, self.prompts)
        count, length = self._ids.shape
        part = slice(self._read, min(self._read + max(tokens // count, 1), length))
        feed = self.feeder.append if self._read else self.feeder.read
        logits = feed(self._ids[:, part], self._mask[:, part])
        self._read = part.stop
        return logits[:, -1] if self._read == length else None


class Rows(Protocol):
    def advance(self, tokens: Sequence[int]) -> Logits:
        """Append one token to each row; returns logits [rows, vocabulary] of what follows."""

    def join(self, prompts: Reading) -> None:
        """Take in prompts that have been read, below the own rows."""

    def keep(self, rows: Sequence[int]) -> None:
        """Forget all others."""


class CachedRows:
    """All rows end at the last place of the cache; what is before a shorter one is masked."""

    def __init__(self) -> None:
        self._feeder: Feeder | None = None

    def advance(self, tokens: Sequence[int]) -> Logits:
        assert self._feeder is not None
        ids = np.array(tokens, np.int64)[:, None]
        return self._feeder.append(ids, np.ones_like(ids))[:, -1]

    def join(self, prompts: Reading) -> None:
        if self._feeder is None:
            self._feeder = prompts.feeder
        else:
            self._feeder.join(prompts.feeder)

    def keep(self, rows: Sequence[int]) -> None:
        if not rows:
            self._feeder = None
        elif self._feeder is not None:
            self._feeder.keep(rows)


class RecomputedRows:
    """Of an engine without a cache: every round reads all tokens again."""

    def __init__(self, feeder: Feeder) -> None:
        self._feeder = feeder
        self._rows: list[list[int]] = []

    def advance(self, tokens: Sequence[int]) -> Logits:
        for row, token in zip(self._rows, tokens, strict=True):
            row.append(token)
        return recompute(self._feeder, self._rows)

    def join(self, prompts: Reading) -> None:
        self._rows += [list(prompt) for prompt in prompts.prompts]

    def keep(self, rows: Sequence[int]) -> None:
        self._rows = [self._rows[row] for row in rows]
