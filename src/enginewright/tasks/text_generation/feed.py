"""Feeds tokens to an engine: padding, positions, and a KV cache where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from enginewright.engines.backend import Array, Backend, Held
from enginewright.errors import InputError, Problem
from enginewright.tasks.interface import Interface
from enginewright.tasks.padding import Tokens
from enginewright.tasks.text_generation.signature import (
    ATTENTION_MASK,
    INPUT_IDS,
    LOGITS,
    PAST,
    PAST_SEQUENCE,
    POSITION_IDS,
    PRESENT,
)

Logits = NDArray[np.float32]
TOKEN_TYPE_IDS = "token_type_ids"


class Feeder:
    """Keys and values of earlier tokens stay with the backend."""

    def __init__(self, engine: Interface, backend: Backend, chunk: int | None = None) -> None:
        """`chunk` limits the tokens of one call; the engine's profiles limit it too.

        Raises `InputError` for an engine without logits, and for inputs that no feeding knows.
        """
        self.logits = engine.output(LOGITS.name, "generate text")
        self._backend = backend
        self._past = engine.names("input", PAST)
        self._present = tuple(name.replace(PAST, PRESENT, 1) for name in self._past)
        others = [name for name in engine.names("input") if name not in self._past]
        self._dtypes = {name: _dtype(engine, name) for name in others}
        _check_inputs(engine, others)
        limits = [size for size in (chunk, engine.limits.sequence) if size is not None]
        self._chunk = min(limits) if limits and self._past else None
        self._axes = {name: _past_axis(engine, name) for name in self._past}
        self._cache: dict[str, Held] = {}
        self._mask: Tokens = np.zeros((0, 0), np.int64)

    @property
    def has_cache(self) -> bool:
        return bool(self._past)

    @property
    def can_pad_left(self) -> bool:
        """It needs a mask, and positions that do not count what is masked."""
        return {ATTENTION_MASK, POSITION_IDS} <= {*self._dtypes}

    @property
    def last_only(self) -> bool:
        """Whether a call gives the logits of its last token alone."""
        return len(self.logits.shape) == 3 and self.logits.shape[1] == 1

    @property
    def vocabulary(self) -> int | None:
        """Token ids that the model has; None where the engine does not say."""
        size = self.logits.shape[-1]
        return size if isinstance(size, int) else None

    def read(self, ids: Tokens, mask: Tokens) -> Logits:
        """Forget everything, and feed whole rows [batch, sequence]; returns as `append` does."""
        self._mask = np.zeros((len(ids), 0), np.int64)
        self._cache = {name: self._backend.empty(name, len(ids)) for name in self._past}
        return self.append(ids, mask)

    def append(self, ids: Tokens, mask: Tokens) -> Logits:
        """Feed tokens after those in the cache; both are int64 [batch, sequence].

        Returns logits [batch, sequence, vocabulary], of the last token alone where `last_only`.
        """
        step = self._chunk or ids.shape[1]
        parts = [slice(begin, begin + step) for begin in range(0, ids.shape[1], step)]
        logits = [self._call(ids[:, part], mask[:, part]) for part in parts]
        return logits[-1] if self.last_only else np.concatenate(logits, axis=1)

    @property
    def can_join(self) -> bool:
        """Whether rows may come and go: the cache is arrays of the host, one place a token."""
        return all(isinstance(self._backend.empty(name, 1), np.ndarray) for name in self._past)

    def join(self, other: Feeder) -> None:
        """Take in the rows of another feeder of the same engine, below the own ones."""
        length = max(self._mask.shape[1], other._mask.shape[1])
        self._mask = np.concatenate([_lengthened(f._mask, length, 1) for f in (self, other)])
        for name in self._past:
            axis = self._axes[name]
            parts = [_lengthened(feeder._cache[name], length, axis) for feeder in (self, other)]
            self._cache[name] = np.concatenate(parts)

    def keep(self, rows: Sequence[int]) -> None:
        """Forget the rows that are not named, and the places that none of those left needs."""
        mask = self._mask[rows]
        unused = int(mask.any(0).argmax())
        self._mask = mask[:, unused:]
        for name in self._past:
            place = [slice(None)] * self._axes[name] + [slice(unused, None)]
            self._cache[name] = np.ascontiguousarray(self._cache[name][rows][tuple(place)])

    def _call(self, ids: Tokens, mask: Tokens) -> Logits:
        self._mask = np.concatenate([self._mask, mask], axis=1)
        positions = np.maximum(np.cumsum(self._mask, axis=1) - 1, 0)[:, -ids.shape[1] :]
        known: dict[str, Array] = {
            INPUT_IDS.name: ids,
            ATTENTION_MASK: self._mask,
            POSITION_IDS: positions,
            TOKEN_TYPE_IDS: np.zeros_like(ids),
        }
        inputs = {
            name: np.ascontiguousarray(known[name], dtype) for name, dtype in self._dtypes.items()
        }
        outputs, present = self._backend.run(
            {**inputs, **self._cache}, [LOGITS.name], self._present
        )
        self._cache = {
            past: present[name] for past, name in zip(self._past, self._present, strict=True)
        }
        return outputs[LOGITS.name].astype(np.float32)


def _dtype(engine: Interface, name: str) -> np.dtype[np.generic]:
    tensor = engine.tensor(name)
    assert tensor is not None
    return np.dtype(tensor.dtype)


def _past_axis(engine: Interface, name: str) -> int:
    tensor = engine.tensor(name)
    assert tensor is not None
    return tensor.shape.index(PAST_SEQUENCE) if PAST_SEQUENCE in tensor.shape else 0


def _lengthened(array: Array, length: int, axis: int) -> Array:
    """Filled up with zeros before what is there: a row ends at the last place."""
    missing = length - array.shape[axis]
    if missing == 0:
        return array
    return np.pad(array, [(missing if n == axis else 0, 0) for n in range(array.ndim)])


def _check_inputs(engine: Interface, names: list[str]) -> None:
    known = (INPUT_IDS.name, ATTENTION_MASK, POSITION_IDS, TOKEN_TYPE_IDS)
    expected = ", ".join((*known, f"{PAST}*"))
    problems = [
        Problem(f"input `{name}` is not known", engine.where, expected)
        for name in names
        if name not in known
    ]
    if problems:
        raise InputError(problems)
