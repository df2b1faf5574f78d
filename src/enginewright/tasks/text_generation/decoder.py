"""Turns an engine into "feed tokens, get the logits of the next", with a KV cache or without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from enginewright.engines.backend import Backend
from enginewright.tasks.interface import Interface
from enginewright.tasks.padding import pad
from enginewright.tasks.text_generation.feed import Feeder, Logits


class Decoder(Protocol):
    def start(self, prompts: Sequence[Sequence[int]]) -> Logits:
        """Forget everything, read the prompts, and return logits [batch, vocabulary]."""

    def advance(self, tokens: Sequence[int]) -> Logits:
        """Append one token to each row, and return logits [batch, vocabulary]."""


def make_decoder(engine: Interface, backend: Backend, *, chunk: int | None = None) -> Decoder:
    """`chunk` limits the tokens of one prefill call; the engine's profiles limit it too."""
    feeder = Feeder(engine, backend, chunk)
    return CachedDecoder(feeder) if feeder.has_cache else RecomputingDecoder(feeder)


class CachedDecoder:
    """Rows are padded on the left, so that the next token of each has the same place."""

    def __init__(self, feeder: Feeder) -> None:
        self._feeder = feeder

    def start(self, prompts: Sequence[Sequence[int]]) -> Logits:
        return self._feeder.read(*pad(prompts, "left"))[:, -1]

    def advance(self, tokens: Sequence[int]) -> Logits:
        ids = np.array(tokens, np.int64)[:, None]
        return self._feeder.append(ids, np.ones_like(ids))[:, -1]


class RecomputingDecoder:
    """For engines without a cache: every step reads all tokens again; rows padded on the right."""

    def __init__(self, feeder: Feeder) -> None:
        self._feeder = feeder
        self._rows: list[list[int]] = []

    def start(self, prompts: Sequence[Sequence[int]]) -> Logits:
        self._rows = [list(prompt) for prompt in prompts]
        return recompute(self._feeder, self._rows)

    def advance(self, tokens: Sequence[int]) -> Logits:
        for row, token in zip(self._rows, tokens, strict=True):
            row.append(token)
        return recompute(self._feeder, self._rows)


def recompute(feeder: Feeder, rows: Sequence[Sequence[int]]) -> Logits:
    """Logits [rows, vocabulary] after the last token of each row, from nothing."""
    if feeder.last_only:
        # What such an engine gives belongs to the last place, so no row may be filled up.
        return np.concatenate([feeder.read(*pad([row]))[:, -1] for row in rows])
    logits = feeder.read(*pad(rows))
    last = [len(row) - 1 for row in rows]
    return logits[np.arange(len(last)), last]
