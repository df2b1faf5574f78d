"""Generates tokens for a batch of prompts, one step at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from enginewright.engines.backend import Greedy
from enginewright.engines.limits import Limits
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.tasks.text_generation.decoder import Decoder
from enginewright.tasks.text_generation.sampling import SamplingSettings, choose_token

BLOCK = 16
"""Tokens that are read from a backend at a time: up to so many are computed after a text's end."""


@dataclass(frozen=True)
class GenerationSettings:
    max_tokens: int = 128
    end_tokens: frozenset[int] = frozenset()
    """A row ends with the first of these, which is not part of the answer."""
    sampling: SamplingSettings = field(default_factory=SamplingSettings)

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(
                Problem("out of range", "max_tokens", "at least 1", str(self.max_tokens))
            )


def check_prompts(engine: Limits, prompts: Sequence[Sequence[int]]) -> None:
    """Raise `InputError` when the engine cannot read the prompts, with its limits."""
    problems = [
        Problem("a prompt has no tokens", f"prompt {number}", "at least one token", "0")
        for number, prompt in enumerate(prompts, 1)
        if not prompt
    ]
    longest = max(map(len, prompts), default=0)
    limits = (
        ("prompts", len(prompts), engine.batch),
        ("tokens in the longest prompt", longest, engine.total_sequence),
    )
    problems += [
        Problem(f"more {what} than the engine takes", "", f"at most {limit}", str(actual))
        for what, actual, limit in limits
        if limit is not None and actual > limit
    ]
    raise_if_any(problems)


def generate(
    decoder: Decoder,
    prompts: Sequence[Sequence[int]],
    settings: GenerationSettings,
    max_total_sequence: int | None = None,
) -> Iterator[tuple[int | None, ...]]:
    """Yield the next token of each row, None for rows that have ended.

    Stops when all rows have ended, after `max_tokens`, or when the longest row is full.
    """
    limit = _limit(prompts, settings, max_total_sequence)
    return _until_ended(_choose(decoder, prompts, settings.sampling, limit), settings.end_tokens)


def generate_greedily(
    backend: Greedy,
    prompt: Sequence[int],
    settings: GenerationSettings,
    max_total_sequence: int | None = None,
) -> Iterator[tuple[int | None, ...]]:
    """The same for one row, each token the likeliest, with a backend that takes it by itself."""
    limit = _limit([prompt], settings, max_total_sequence)
    pieces = backend.greedy(np.array([prompt], np.int64), limit, BLOCK) if limit > 0 else ()
    tokens = ([int(token)] for piece in pieces for token in piece[0])
    return _until_ended(tokens, settings.end_tokens)


def _limit(prompts: Sequence[Sequence[int]], settings: GenerationSettings, full: int | None) -> int:
    if full is None:
        return settings.max_tokens
    return min(settings.max_tokens, full - max(map(len, prompts)))


def _choose(
    decoder: Decoder, prompts: Sequence[Sequence[int]], sampling: SamplingSettings, limit: int
) -> Iterator[Sequence[int]]:
    logits = decoder.start(prompts)
    for step in range(limit):
        chosen = [
            choose_token(logits[row], sampling, row=row, step=step) for row in range(len(prompts))
        ]
        yield chosen
        if step + 1 < limit:
            # Rows that have ended go on with any token: nobody reads them.
            logits = decoder.advance(chosen)


def _until_ended(
    choices: Iterable[Sequence[int]], end_tokens: frozenset[int]
) -> Iterator[tuple[int | None, ...]]:
    ended: list[bool] = []
    for chosen in choices:
        ended = ended or [False] * len(chosen)
        ended = [over or token in end_tokens for over, token in zip(ended, chosen, strict=True)]
        if all(ended):
            return
        yield tuple(None if over else token for over, token in zip(ended, chosen, strict=True))
