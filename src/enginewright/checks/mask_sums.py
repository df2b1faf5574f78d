"""Attention masks that are added to each other: two that fit float16 may not fit together.

The least number of float16 twice is minus infinity, and a row in which all is masked becomes NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto, TensorProto

from enginewright.checks.constant_range import LARGEST
from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.flow import Flow, is_standard
from enginewright.onnx_model.reader import CheckedModel
from enginewright.onnx_model.tensors import nodes

MASKING = -1e4
"""Masks add less than this; what else is added to scores is far above it."""
_FIX = "combine the masks with Min, or as truths with And, before they become numbers"
Interval = tuple[float, float]


def check_mask_sums(checked: CheckedModel) -> Findings:
    """Fail for each addition of two masks whose sum is beyond the type that it is added in."""
    intervals = _Intervals(checked, Flow(checked.flat.graph))
    problems = []
    for node in nodes(checked.flat.graph):
        limit = LARGEST.get(checked.types.get(node.output[0], 0)) if node.output else None
        if limit is None or not is_standard(node, "Add"):
            continue
        masks = [intervals.of(value) for value in node.input]
        lows = [mask[0] for mask in masks if mask is not None]
        if len(lows) == 2 and max(lows) < MASKING and sum(lows) < -limit <= min(lows):
            problems.append(
                Problem(
                    "masks that are added to each other overflow",
                    checked.place(node),
                    f"at least {-limit:g}",
                    f"{lows[0]:g} and {lows[1]:g}",
                    _FIX,
                )
            )
    return Findings(tuple(problems))


@dataclass
class _Intervals:
    """Least and greatest element of values that are made of constants and of truths alone."""

    checked: CheckedModel
    flow: Flow
    known: dict[str, Interval | None] = field(default_factory=dict)

    def of(self, value: str) -> Interval | None:
        """None where other numbers go in. Iterative, since chains may be long."""
        stack = [value]
        while stack:
            name = stack[-1]
            missing = [one for one in self._parents(name) if one not in self.known]
            # A value that a loop carries into itself waits for nothing.
            if missing and name not in self.known:
                self.known[name] = None
                stack.extend(missing)
                continue
            stack.pop()
            self.known[name] = self._compute(name)
        return self.known[value]

    def _parents(self, name: str) -> list[str]:
        if self._leaf(name) is not None:
            return []
        node = self.flow.producers.get(name)
        moved = list(self.flow.moved_from(name))
        if moved or node is None:
            return moved
        return list(node.input) if is_standard(node, *_ARITHMETIC) else []

    def _leaf(self, name: str) -> Interval | None:
        if self.checked.types.get(name) == TensorProto.BOOL:
            return 0.0, 1.0
        # Integers that the user feeds to a mask are 0 and 1.
        if self.checked.is_whole(name) and any(v.name == name for v in self.flow.graph.input):
            return 0.0, 1.0
        elements = self.flow.elements(name)
        if elements is None or elements.size == 0 or np.isnan(elements).any():
            return None
        return float(elements.min()), float(elements.max())

    def _compute(self, name: str) -> Interval | None:
        leaf = self._leaf(name)
        if leaf is not None:
            return leaf
        parents = [self.known.get(one) for one in self._parents(name)]
        found = [one for one in parents if one is not None]
        if not found or len(found) != len(parents):
            return None
        node = self.flow.producers.get(name)
        if node is not None and is_standard(node, *_ARITHMETIC):
            return _arithmetic(node, found)
        return min(low for low, _ in found), max(high for _, high in found)


def _arithmetic(node: NodeProto, parents: list[Interval]) -> Interval:
    first, last = parents[0], parents[-1]
    with np.errstate(invalid="ignore", over="ignore"):
        corners = np.array(
            [_ARITHMETIC[node.op_type](np.float64(a), np.float64(b)) for a in first for b in last]
        )
    # Nothing times infinity is no number; as an end of an interval it says nothing.
    return float(np.nanmin(corners)), float(np.nanmax(corners))


_ARITHMETIC: Mapping[str, np.ufunc] = {
    "Add": np.add, "Max": np.maximum, "Min": np.minimum, "Mul": np.multiply, "Sub": np.subtract,
}  # fmt: skip
