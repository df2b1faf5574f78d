"""Ranges of the dims of each input, for which the builder makes an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enginewright.document import Document

Range = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Minimum, optimum and maximum of the dims or of the values of one tensor."""

ORDER = ("min", "opt", "max")


@dataclass(frozen=True)
class OptimizationProfile:
    shapes: Mapping[str, Range]
    """Input -> minimum, optimum and maximum of its dims; dynamic inputs only."""
    axes: Mapping[str, tuple[int, int, int]]
    values: Mapping[str, Range] = field(default_factory=dict)
    """Shape-tensor input -> minimum, optimum and maximum of its values."""

    def to_json(self) -> dict[str, object]:
        def named(ranges: Mapping[str, Range]) -> dict[str, dict[str, list[int]]]:
            return {
                tensor: {key: list(row) for key, row in zip(ORDER, rows, strict=True)}
                for tensor, rows in ranges.items()
            }

        axes = {axis: list(bounds) for axis, bounds in self.axes.items()}
        return {"axes": axes, "shapes": named(self.shapes), "values": named(self.values)}

    @classmethod
    def from_document(cls, document: Document) -> OptimizationProfile:
        axes = {}
        for axis, bounds in document.table("axes").items():
            if _is_row(bounds) and len(bounds) == 3:
                axes[axis] = (bounds[0], bounds[1], bounds[2])
            else:
                document.note(f"axes.{axis}", "three integers", bounds)
        shapes, values = _ranges(document.child("shapes")), _ranges(document.child("values"))
        return cls(shapes, axes, values)


def _ranges(document: Document) -> dict[str, Range]:
    ranges = {}
    for tensor, rows in document.value.items():
        ordered: list[Any] = [rows.get(key) for key in ORDER] if isinstance(rows, Mapping) else []
        if len(ordered) == 3 and all(_is_row(row) for row in ordered):
            ranges[tensor] = (tuple(ordered[0]), tuple(ordered[1]), tuple(ordered[2]))
        else:
            document.note(tensor, "lists of integers under min, opt and max", rows)
    return ranges


def _is_row(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int for item in value)
