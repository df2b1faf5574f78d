"""Two records of builds side by side, and steps that gave different results for the same key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.errors import InputError, Problem, raise_if_any

FIELDS = {"action": str, "address": str, "key": str, "outputs": str, "from": str, "bytes": int}


@dataclass(frozen=True)
class RecordedStep:
    action: str
    address: str
    key: str
    """sha256 over all that can change the result."""
    outputs: str
    """sha256 of the tree of what the step put out."""
    source: str
    """Where the result came from, such as `ran here` or `remote cache`."""
    milliseconds: int | None
    """How long the step took where it ran."""
    bytes: int

    @property
    def name(self) -> tuple[str, str]:
        return self.action, self.address


@dataclass(frozen=True)
class StepPair:
    """A step in two records; None where a record lacks it."""

    first: RecordedStep | None
    second: RecordedStep | None

    @property
    def name(self) -> tuple[str, str]:
        step = self.first or self.second
        assert step is not None
        return step.name

    @property
    def verdict(self) -> str:
        if self.first is None or self.second is None:
            return "only in the " + ("first" if self.second is None else "second")
        if self.first.key != self.second.key:
            return "other inputs"
        return "same" if self.first.outputs == self.second.outputs else "NOT DETERMINISTIC"

    @property
    def is_nondeterministic(self) -> bool:
        return self.verdict == "NOT DETERMINISTIC"


def read_record(path: Path) -> tuple[RecordedStep, ...]:
    """Steps of a record that `--enginewright-record` wrote; raise `InputError` if it is none."""
    rows = canonical_json.read_object(path).get("steps")
    if not isinstance(rows, list):
        raise InputError(
            Problem(
                "is not a build record",
                str(path),
                "a JSON object with a list `steps`",
                fix="write one with `./pants --enginewright-record=FILE package ...`",
            )
        )
    raise_if_any([p for n, row in enumerate(rows) for p in _problems(row, f"{path}: steps[{n}]")])
    return tuple(
        RecordedStep(
            row["action"],
            row["address"],
            row["key"],
            row["outputs"],
            row["from"],
            row.get("milliseconds"),
            row["bytes"],
        )
        for row in rows
    )


def _problems(row: Any, where: str) -> list[Problem]:
    if not isinstance(row, dict):
        return [Problem("a step is not an object", where, "an object", repr(row))]
    return [
        Problem(f"a step has a wrong `{name}`", where, kind.__name__, repr(row.get(name)))
        for name, kind in FIELDS.items()
        if not isinstance(row.get(name), kind)
    ]


def compare(first: Sequence[RecordedStep], second: Sequence[RecordedStep]) -> tuple[StepPair, ...]:
    """Pairs by action and address, in that order.

    Several steps of one name, such as a build that was repeated, are paired by key where they can
    be, and otherwise in the order of their keys.
    """
    pairs = []
    for name in sorted({step.name for step in (*first, *second)}):
        left = sorted((s for s in first if s.name == name), key=lambda s: (s.key, s.outputs))
        right = sorted((s for s in second if s.name == name), key=lambda s: (s.key, s.outputs))
        for step in list(left):
            match = next((other for other in right if other.key == step.key), None)
            if match is not None:
                pairs.append(StepPair(step, match))
                left.remove(step)
                right.remove(match)
        length = max(len(left), len(right))
        padded = [[*side, *[None] * (length - len(side))] for side in (left, right)]
        pairs.extend(StepPair(a, b) for a, b in zip(*padded, strict=True))
    return tuple(pairs)


def render(pairs: Sequence[StepPair]) -> str:
    """A table, a line a step; then what is not deterministic, naming the step and both results."""
    rows = [("step", "first", "second", "result")]
    for pair in pairs:
        first, second = _describe(pair.first), _describe(pair.second)
        rows.append((" ".join(pair.name), first, second, pair.verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
    for pair in pairs:
        if pair.is_nondeterministic and pair.first and pair.second:
            lines += [
                "",
                f"{' '.join(pair.name)} is not deterministic: the same key gave other results.",
                f"  key      {pair.first.key}",
                f"  first    {pair.first.outputs}",
                f"  second   {pair.second.outputs}",
            ]
    return "\n".join(lines)


def _describe(step: RecordedStep | None) -> str:
    if step is None:
        return "-"
    seconds = "" if step.milliseconds is None else f" {step.milliseconds / 1000:.1f} s"
    return f"{step.source}{seconds}"
