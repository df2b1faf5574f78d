"""How long the rows of a measurement are."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.engines.limits import Limits
from enginewright.errors import InputError, Problem
from enginewright.validation.measurement_request import MeasurementRequest

SHORT = (17, 64)


@dataclass(frozen=True)
class Lengths:
    measured: tuple[int, ...]
    """In tokens, rising; the last is the longest."""
    greatest: int | None
    """Of engine and model; None where neither says."""
    not_reached: tuple[str, ...]
    """In words, what keeps the longest from being the greatest."""

    @property
    def longest(self) -> int:
        return self.measured[-1]


def choose_lengths(
    limits: Limits, request: MeasurementRequest, available: int, *, has_cache: bool = False
) -> Lengths:
    """Short rows, and the longest that engine, request and dataset of `available` tokens allow.

    Raises `InputError` where that is less than 2 tokens.
    """
    of_call = None if has_cache else limits.sequence
    said = [size for size in (limits.total_sequence, of_call, request.positions) if size]
    greatest = min(said, default=None)
    longest = min(size for size in (greatest, request.max_length, available) if size is not None)
    if longest < 2:
        raise InputError(
            Problem(
                "there is nothing to measure with",
                "dataset" if available < 2 else "engine",
                "rows of at least 2 tokens",
                f"{longest}",
                "give a longer text" if available < 2 else "",
            )
        )
    reasons = []
    if greatest is None:
        reasons.append(f"neither engine nor model says a greatest length; measured to {longest}")
    elif longest < greatest:
        why = (
            f"the dataset has {available} tokens"
            if longest == available
            else f"`max_length` is {request.max_length}"
        )
        reasons.append(f"rows of {longest + 1} to {greatest} tokens: {why}")
    short = [length for length in SHORT if length < longest]
    return Lengths((*short, longest), greatest, tuple(reasons))
