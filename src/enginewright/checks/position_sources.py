"""Where a graph makes positions, and where these become half precision first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from enginewright.checks.exactness import EXACT_UP_TO
from enginewright.onnx_model.flow import MOVES, Flow, is_standard
from enginewright.onnx_model.reader import CheckedModel

_STILL_POSITIONS = ("Abs", "Add", "Max", "Min", "Neg", "Sub")
"""Of distances too: their greatest is the greatest position."""


@dataclass(frozen=True)
class HalfPositions:
    value: str
    """The first that is half precision on a way from a source."""
    greatest: int | None
    """The greatest position, where the graph says it."""


@dataclass(frozen=True)
class PositionSources:
    checked: CheckedModel
    flow: Flow

    def half_values(self) -> Iterator[HalfPositions]:
        """In the order in which they are met, each once."""
        seen: set[str] = set()
        queue = list(self._sources())
        while queue:
            found = queue.pop(0)
            if found.value in seen:
                continue
            seen.add(found.value)
            if self.checked.types.get(found.value) in EXACT_UP_TO:
                yield found
            else:
                queue.extend(self._behind(found))

    def _sources(self) -> Iterator[HalfPositions]:
        for value in self.flow.graph.input:
            if "position" in value.name.lower() and self.checked.is_whole(value.name):
                yield HalfPositions(value.name, None)
        for name in self.flow.constants:
            elements = self.flow.elements(name) if self.checked.is_whole(name) else None
            if (
                elements is not None
                and elements.size > 2
                and np.all(np.diff(elements.ravel()) == 1)
            ):
                yield HalfPositions(name, int(np.abs(elements).max()))
        for name, node in self.flow.producers.items():
            if is_standard(node, "Range"):
                ends = [self.flow.elements(value) for value in node.input[:2]]
                known = [float(np.abs(end).max()) for end in ends if end is not None]
                yield HalfPositions(name, int(max(known)) if len(known) == len(ends) else None)
            elif is_standard(node, "CumSum") and self._counts(node.input[0]):
                yield HalfPositions(name, None)

    def _counts(self, value: str) -> bool:
        """Whether whole numbers are added up, such as those of a mask."""
        while not self.checked.is_whole(value):
            moved = self.flow.moved_from(value)
            if len(moved) != 1:
                return False
            value = moved[0]
        return True

    def _behind(self, found: HalfPositions) -> Iterator[HalfPositions]:
        for node, place in self.checked.consumers.get(found.value, ()):
            if is_standard(node, *MOVES):
                places = MOVES[node.op_type]
                if places is None or place in places:
                    yield from (HalfPositions(name, found.greatest) for name in node.output)
            elif is_standard(node, *_STILL_POSITIONS):
                yield HalfPositions(node.output[0], None)
