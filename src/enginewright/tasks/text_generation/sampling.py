"""Chooses the next token, reproducibly: the same seed gives the same text on every host.

Random numbers come from Philox, a generator that computes number n of a stream from key and counter
alone (Salmon et al., https://doi.org/10.1145/2063384.2063405), so row and step need no state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enginewright.errors import Problem, raise_if_any


@dataclass(frozen=True)
class SamplingSettings:
    temperature: float = 0.0
    """0 takes the most likely token; 1 samples from the model's own distribution."""
    top_k: int = 0
    """Sample among this many most likely tokens; 0 is all."""
    top_p: float = 1.0
    """Sample among the fewest most likely tokens whose probabilities sum to at least this."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises `InputError` with every setting out of range."""
        checks = (
            ("temperature", self.temperature >= 0, "at least 0", self.temperature),
            ("top_k", self.top_k >= 0, "at least 0", self.top_k),
            ("top_p", 0 < self.top_p <= 1, "above 0 and at most 1", self.top_p),
            ("seed", 0 <= self.seed < 2**64, "from 0 to 2**64 - 1", self.seed),
        )
        raise_if_any(
            [
                Problem("sampling setting out of range", name, expected, str(actual))
                for name, valid, expected, actual in checks
                if not valid
            ]
        )


def choose_token(
    logits: NDArray[np.float32], settings: SamplingSettings, *, row: int, step: int
) -> int:
    """The id of the next token, from `logits` [vocabulary] of batch entry `row` at `step`."""
    if settings.temperature == 0:
        return int(np.argmax(logits))
    # Stable, so that equal logits are ordered by token id everywhere.
    order = np.argsort(-logits, kind="stable")
    if settings.top_k:
        order = order[: settings.top_k]
    scaled = logits[order].astype(np.float64) / settings.temperature
    weights = np.exp(scaled - scaled[0])
    cumulative = np.cumsum(weights)
    if settings.top_p < 1:
        kept = int(np.searchsorted(cumulative, settings.top_p * cumulative[-1])) + 1
        cumulative = cumulative[:kept]
    uniform = np.random.Generator(
        np.random.Philox(key=settings.seed, counter=[step, row, 0, 0])
    ).random()
    chosen = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
    return int(order[min(chosen, len(cumulative) - 1)])
