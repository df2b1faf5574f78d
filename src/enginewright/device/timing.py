"""How long generations take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from enginewright.device.request import SpeedRequest
from enginewright.engines.backend import Array

Generate = Callable[[Array, int], object]
"""From prompts, int64 [batch, sequence], and a number of tokens; returns when they are there."""


@dataclass(frozen=True)
class Speed:
    batch: int
    first_token_seconds: float
    """From the prompts to the first token of each row: median."""
    seconds: tuple[float, ...]
    """Of each whole generation that counts, the prompts included."""
    tokens_per_second: float
    """Tokens of all rows, by the median of `seconds`."""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "seconds": list(self.seconds)}


def measure_speed(generate: Generate, batch: int, vocabulary: int, request: SpeedRequest) -> Speed:
    """Prompts are drawn tokens, the same in every run."""
    draw = np.random.default_rng(0)
    prompts = draw.integers(1, vocabulary, (batch, request.prompt_tokens), np.int64)
    for _ in range(request.warmup):
        generate(prompts, request.new_tokens)
    first = [_seconds(generate, prompts, 1) for _ in range(request.repeats)]
    whole = [_seconds(generate, prompts, request.new_tokens) for _ in range(request.repeats)]
    rate = batch * request.new_tokens / statistics.median(whole)
    return Speed(batch, statistics.median(first), tuple(whole), rate)


def _seconds(generate: Generate, prompts: Array, count: int) -> float:
    begin = time.perf_counter()
    generate(prompts, count)
    return time.perf_counter() - begin
