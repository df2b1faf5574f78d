"""Positions, inverse frequencies and angles that are half precision.

An angle is a position times a frequency. In float16 an angle above 1024 is wrong by up to half a
radian, in bfloat16 one above 128: sine and cosine of it are noise. They themselves may be half.
Followed back from each `Sin` and `Cos`; and, for what has no angles (distances, ALiBi), forward
from where positions are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from enginewright.checks.exactness import EXACT_UP_TO, describe_angle_error, find_inexact
from enginewright.checks.findings import Findings
from enginewright.checks.position_sources import PositionSources
from enginewright.errors import Problem
from enginewright.onnx_model.flow import Flow, is_standard
from enginewright.onnx_model.reader import CheckedModel
from enginewright.onnx_model.tensors import nodes

POSITIONS, FREQUENCIES, ANGLES = "positions", "inverse frequencies", "angles"
_WHOLE, _OTHER = "whole constants", "other"
_SUMS = ("Add", "Sub", "Max", "Min", "Clip", "Abs", "Neg", "Mod", "Floor", "Round")
_PRODUCTS = ("Mul", "Div", "MatMul", "Einsum", "Gemm", "Pow", "Exp", "Log", "Reciprocal", "Sqrt")
_FRACTIONS = ("Div", "Pow", "Exp", "Log", "Reciprocal", "Sqrt")
"""Of whole numbers they make others."""
_FIX = (
    "cast positions and inverse frequencies to float32 before they meet; sine and cosine may be "
    "cast back"
)


def check_half_positions(checked: CheckedModel, length: int | None) -> Findings:
    """`length` is the greatest number of tokens that the model is made for; None: not known.

    Fails for angles and inverse frequencies in half precision, and for positions beyond what it
    holds exactly.
    """
    flow = Flow(checked.flat.graph)
    found: dict[tuple[str, str], Findings] = {}
    for node in nodes(checked.flat.graph):
        if is_standard(node, "Sin", "Cos"):
            origin = _Origin(checked, flow)
            if origin.kind(node.input[0]) != _OTHER:
                for value, kind in origin.half():
                    found.setdefault((value, kind), _finding(checked, flow, value, kind, length))
    for half in PositionSources(checked, flow).half_values():
        reach = length if half.greatest is None else half.greatest
        finding = _finding(checked, flow, half.value, POSITIONS, reach)
        found.setdefault((half.value, POSITIONS), finding)
    return Findings.join(found.values())


def _finding(
    checked: CheckedModel, flow: Flow, value: str, kind: str, length: int | None
) -> Findings:
    node = flow.producers.get(value)
    place = checked.where if node is None else checked.place(node)
    where, data_type = f"{place}, tensor `{value}`", checked.types[value]
    what = f"{kind} are half precision"
    if kind == POSITIONS:
        return find_inexact(what, where, data_type, length, _FIX)
    actual = describe_angle_error(data_type, length)
    return Findings((Problem(what, where, "float32", actual, _FIX),))


@dataclass
class _Origin:
    """What one angle is made of; each value is one of the four kinds."""

    checked: CheckedModel
    flow: Flow
    kinds: dict[str, str] = field(default_factory=dict)
    made_of: dict[str, list[str]] = field(default_factory=dict)

    def kind(self, value: str) -> str:
        """Iterative: a chain of a whole network would exceed the depth of the interpreter."""
        stack = [value]
        while stack:
            name = stack[-1]
            if name not in self.made_of:
                self.made_of[name] = list(self._parents(name))
                # A loop carries a value into itself.
                self.kinds.setdefault(name, "")
                stack.extend(p for p in self.made_of[name] if p not in self.made_of)
                continue
            stack.pop()
            if not self.kinds[name]:
                self.kinds[name] = self._kind(name)
        return self.kinds[value]

    def half(self) -> Iterator[tuple[str, str]]:
        """Where half precision begins: values no parent of which is half and of their kind."""
        types = self.checked.types
        for name, parents in self.made_of.items():
            kind = self.kinds[name]
            if types.get(name) not in EXACT_UP_TO or kind == _WHOLE:
                continue
            if not any(types.get(p) in EXACT_UP_TO and self.kinds[p] == kind for p in parents):
                yield name, kind

    def _holds_whole_numbers(self, name: str) -> bool:
        """Constants such as the start of a range: they are what they were before rounding."""
        elements = self.flow.elements(name)
        return elements is not None and bool(np.all(elements == np.rint(elements)))

    def _parents(self, name: str) -> Iterator[str]:
        if self._is_source(name):
            return
        moved = self.flow.moved_from(name)
        node = self.flow.producers.get(name)
        if moved or node is None:
            yield from moved
        elif node.op_type in (*_SUMS, *_PRODUCTS):
            yield from (value for value in node.input if value)

    def _is_source(self, name: str) -> bool:
        node = self.flow.producers.get(name)
        return (
            self.flow.is_constant(name)
            or self.checked.is_whole(name)
            or (node is not None and is_standard(node, "Range", "CumSum"))
            or self._is_looked_up(name)
        )

    def _is_looked_up(self, name: str) -> bool:
        """A row of a table, such as an embedding: no angle but data."""
        node = self.flow.producers.get(name)
        return (
            node is not None
            and is_standard(node, "Gather")
            and self.flow.is_constant(node.input[0])
            and not self.flow.is_constant(node.input[1])
        )

    def _kind(self, name: str) -> str:
        if self._is_looked_up(name):
            return _OTHER
        if self.flow.is_constant(name):
            return _WHOLE if self._holds_whole_numbers(name) else FREQUENCIES
        if self._is_source(name):
            return POSITIONS
        kinds = {self.kinds[parent] for parent in self.made_of[name]} - {""}
        if not kinds or _OTHER in kinds:
            return _OTHER
        node = self.flow.producers.get(name)
        if kinds <= {_WHOLE, POSITIONS} and node is not None and node.op_type in _FRACTIONS:
            return ANGLES if POSITIONS in kinds else FREQUENCIES
        if len(kinds) > 1:
            kinds.discard(_WHOLE)
        return kinds.pop() if len(kinds) == 1 else ANGLES
