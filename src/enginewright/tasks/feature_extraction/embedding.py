"""Embeds lines of text with a feature-extraction engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from enginewright.engines.backend import Backend
from enginewright.engines.package import EnginePackage
from enginewright.errors import InputError, Problem

BATCH = 8


def embed(
    package: EnginePackage, backend: Backend, lines: Sequence[Sequence[int]]
) -> Iterator[NDArray[np.float32]]:
    """Yield one vector [hidden] for each line of token ids, in order.

    A batch is a few lines in the order given, padded on the right. Raises `InputError` for an
    engine without the output `embeddings` and for lines that are longer than it takes.
    """
    if package.tensor("embeddings") is None:
        raise InputError(
            Problem("the engine does not embed text", str(package.folder), "output `embeddings`")
        )
    limit = package.max_total_sequence
    too_long = [
        Problem("a line is too long", f"line {number}", f"at most {limit} tokens", str(len(line)))
        for number, line in enumerate(lines, 1)
        if limit is not None and len(line) > limit
    ]
    if too_long:
        raise InputError(too_long)
    size = min(BATCH, package.max_batch or BATCH)
    for begin in range(0, len(lines), size):
        yield from _embed_batch(backend, lines[begin : begin + size])


def _embed_batch(backend: Backend, lines: Sequence[Sequence[int]]) -> Iterator[NDArray[np.float32]]:
    longest = max(1, *map(len, lines))
    ids = np.zeros((len(lines), longest), np.int64)
    mask = np.zeros_like(ids)
    for row, line in enumerate(lines):
        ids[row, : len(line)] = line
        mask[row, : len(line)] = 1
    outputs, _ = backend.run({"input_ids": ids, "attention_mask": mask}, ["embeddings"])
    yield from outputs["embeddings"].astype(np.float32)
