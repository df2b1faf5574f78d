"""Feeds texts and pairs of texts to an engine: special tokens, types, padding on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enginewright.engines.backend import Array, Backend
from enginewright.errors import InputError, Problem
from enginewright.tasks.classification.signature import (
    ATTENTION_MASK,
    INPUT_IDS,
    LOGITS,
    TOKEN_TYPE_IDS,
)
from enginewright.tasks.interface import Interface
from enginewright.tasks.padding import pad
from enginewright.tasks.text_tokenizer import TextTokenizer

SEPARATOR = "\t"
"""Between the two texts of a pair, in a file of pairs."""


@dataclass(frozen=True)
class Row:
    """Tokens of a text or of a pair, special tokens included."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    """0 for the first text, 1 for the second, as the tokenizer says."""


def encode(tokenizer: TextTokenizer, text: str) -> Row:
    """Of a line: one text, or two with a tab between them."""
    first, is_pair, second = text.partition(SEPARATOR)
    found = tokenizer.tokenizer.encode(first, second if is_pair else None)
    return Row(tuple(found.ids), tuple(found.type_ids))


class Feeder:
    def __init__(self, engine: Interface, backend: Backend) -> None:
        """Raises `InputError` for an engine without logits, and for inputs not known."""
        self.labels = engine.output(LOGITS, "classify text").shape[-1]
        """Their number, where the engine says it."""
        known = (INPUT_IDS.name, ATTENTION_MASK.name, TOKEN_TYPE_IDS.name)
        problems = [
            Problem(f"input `{name}` is not known", engine.where, ", ".join(known))
            for name in engine.names("input")
            if name not in known
        ]
        if problems:
            raise InputError(problems)
        self._backend = backend
        self._dtypes = {
            tensor.name: np.dtype(tensor.dtype)
            for tensor in engine.tensors
            if tensor.mode == "input"
        }

    def classify(self, rows: Sequence[Row]) -> list[NDArray[np.float32]]:
        """Logits of each row: [labels], or [tokens, labels] where the engine scores tokens."""
        ids, mask = pad([row.ids for row in rows])
        types, _ = pad([row.types for row in rows])
        known: dict[str, Array] = {
            INPUT_IDS.name: ids,
            ATTENTION_MASK.name: mask,
            TOKEN_TYPE_IDS.name: types,
        }
        inputs = {name: known[name].astype(dtype) for name, dtype in self._dtypes.items()}
        outputs, _ = self._backend.run(inputs, [LOGITS])
        logits = outputs[LOGITS].astype(np.float32)
        if logits.ndim == 2:
            return [*logits]
        return [found[: len(row.ids)] for found, row in zip(logits, rows, strict=True)]
