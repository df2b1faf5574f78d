"""How much may be asked of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from enginewright.schema import Count


@dataclass(frozen=True)
class Limits:
    """Greatest sizes; None where the engine sets no limit."""

    batch: Count | None = None
    sequence: Count | None = None
    """Tokens of one call."""
    total_sequence: Count | None = None
    """Tokens of a row, those of earlier calls included."""

    @classmethod
    def of_axes(cls, profiles: Iterable[Mapping[str, int]]) -> Limits:
        """Of the greatest size of each named axis, in each range that the engine is made for."""
        greatest: dict[str, int] = {}
        for profile in profiles:
            for axis, size in profile.items():
                greatest[axis] = max(greatest.get(axis, 0), size)
        sequence = greatest.get("sequence")
        return cls(greatest.get("batch"), sequence, greatest.get("total_sequence", sequence))

    def within(self, tokens: int | None) -> Limits:
        """The same, for a model that was made for so many tokens of a row."""
        totals = [size for size in (self.total_sequence, tokens) if size is not None]
        return Limits(self.batch, self.sequence, min(totals, default=None))
