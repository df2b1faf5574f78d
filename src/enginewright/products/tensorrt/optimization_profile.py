"""Ranges of the dims of each input, for which the builder makes an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Range = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Minimum, optimum and maximum of the dims of one tensor."""


@dataclass(frozen=True)
class OptimizationProfile:
    shapes: Mapping[str, Range]
    """Input -> minimum, optimum and maximum of its dims; dynamic inputs only."""
    axes: Mapping[str, tuple[int, int, int]]
    """Name of an axis -> its minimum, optimum and maximum."""
