"""Generates tokens for a batch of prompts, one step at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from enginewright.engines.limits import Limits
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.tasks.text_generation.decoder import Decoder
from enginewright.tasks.text_generation.sampling import SamplingSettings, choose_token


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
    limit = settings.max_tokens
    if max_total_sequence is not None:
        limit = min(limit, max_total_sequence - max(map(len, prompts)))
    logits = decoder.start(prompts)
    ended = [False] * len(prompts)
    for step in range(limit):
        chosen = [
            choose_token(logits[row], settings.sampling, row=row, step=step)
            for row in range(len(prompts))
        ]
        ended = [
            over or token in settings.end_tokens for over, token in zip(ended, chosen, strict=True)
        ]
        if all(ended):
            return
        yield tuple(None if over else token for over, token in zip(ended, chosen, strict=True))
        if step + 1 < limit:
            # Rows that have ended go on with any token: nobody reads them.
            logits = decoder.advance(chosen)
