"""Rows of tokens of different lengths as one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]

PAD = 0
"""Any id that the model has: what stands there is masked, or nobody reads it."""


def pad(rows: Sequence[Sequence[int]], side: str = "right") -> tuple[Tokens, Tokens]:
    """Ids and mask, int64 [batch, longest]; the mask is 0 where a row is filled up on `side`."""
    longest = max(map(len, rows))
    ids = np.full((len(rows), longest), PAD, np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for number, row in enumerate(rows):
        place = place_of(len(row), longest, side)
        ids[number, place] = row
        mask[number, place] = 1
    return ids, mask


def place_of(length: int, longest: int, side: str) -> slice:
    """Where a row of `length` tokens lies in one of `longest`."""
    return slice(0, length) if side == "right" else slice(longest - length, longest)
