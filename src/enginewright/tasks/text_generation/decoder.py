"""Turns an engine into "feed tokens, get the logits of the next", with a KV cache or without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from enginewright.engines.backend import Backend, Held
from enginewright.engines.package import EnginePackage
from enginewright.errors import InputError, Problem

Tokens = NDArray[np.int64]
Logits = NDArray[np.float32]


class Decoder(Protocol):
    def start(self, prompts: Sequence[Sequence[int]]) -> Logits:
        """Forget everything, read the prompts, and return logits [batch, vocabulary]."""

    def advance(self, tokens: Sequence[int]) -> Logits:
        """Append one token to each row, and return logits [batch, vocabulary]."""


def make_decoder(package: EnginePackage, backend: Backend, *, chunk: int | None = None) -> Decoder:
    """`chunk` limits the tokens of one prefill call; the engine's profiles limit it too."""
    if package.tensor("logits") is None:
        raise InputError(
            Problem("the engine does not generate text", str(package.folder), "output `logits`")
        )
    if not package.names("input", "past_key_values."):
        return RecomputingDecoder(backend)
    limits = [size for size in (chunk, package.max_sequence) if size is not None]
    return CachedDecoder(package, backend, min(limits) if limits else None)


class CachedDecoder:
    """Keys and values of earlier tokens stay with the backend; rows are padded on the left."""

    def __init__(self, package: EnginePackage, backend: Backend, chunk: int | None) -> None:
        self._backend = backend
        self._chunk = chunk
        self._past = package.names("input", "past_key_values.")
        self._present = tuple(name.replace("past_key_values", "present", 1) for name in self._past)
        self._cache: dict[str, Held] = {}
        self._mask: Tokens = np.zeros((0, 0), np.int64)

    def start(self, prompts: Sequence[Sequence[int]]) -> Logits:
        batch, longest = len(prompts), max(map(len, prompts))
        ids = np.zeros((batch, longest), np.int64)
        mask = np.zeros((batch, longest), np.int64)
        for row, prompt in enumerate(prompts):
            ids[row, longest - len(prompt) :] = prompt
            mask[row, longest - len(prompt) :] = 1
        self._mask = np.zeros((batch, 0), np.int64)
        self._cache = {name: self._backend.empty(name, batch) for name in self._past}
        step = self._chunk or longest
        for begin in range(0, longest, step):
            part = slice(begin, begin + step)
            logits = self._feed(ids[:, part], mask[:, part])
        return logits

    def advance(self, tokens: Sequence[int]) -> Logits:
        ids = np.array(tokens, np.int64)[:, None]
        return self._feed(ids, np.ones_like(ids))

    def _feed(self, ids: Tokens, mask: Tokens) -> Logits:
        self._mask = np.concatenate([self._mask, mask], axis=1)
        positions = np.maximum(np.cumsum(self._mask, axis=1) - 1, 0)[:, -ids.shape[1] :]
        inputs = {
            "input_ids": np.ascontiguousarray(ids),
            "attention_mask": self._mask,
            "position_ids": np.ascontiguousarray(positions),
            **self._cache,
        }
        outputs, present = self._backend.run(inputs, ["logits"], self._present)
        self._cache = {
            past: present[name] for past, name in zip(self._past, self._present, strict=True)
        }
        return outputs["logits"][:, -1].astype(np.float32)


class RecomputingDecoder:
    """For engines without a cache: every step reads all tokens again; rows padded on the right."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._rows: list[list[int]] = []

    def start(self, prompts: Sequence[Sequence[int]]) -> Logits:
        self._rows = [list(prompt) for prompt in prompts]
        return self._compute()

    def advance(self, tokens: Sequence[int]) -> Logits:
        for row, token in zip(self._rows, tokens, strict=True):
            row.append(token)
        return self._compute()

    def _compute(self) -> Logits:
        longest = max(map(len, self._rows))
        ids = np.zeros((len(self._rows), longest), np.int64)
        for index, row in enumerate(self._rows):
            ids[index, : len(row)] = row
        outputs, _ = self._backend.run({"input_ids": ids}, ["logits"])
        last = [len(row) - 1 for row in self._rows]
        return outputs["logits"][np.arange(len(last)), last].astype(np.float32)
