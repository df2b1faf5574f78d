"""Two records of builds side by side, and steps that gave different results for the same key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from enginewright.document import read
from enginewright.schema import Size, named


@dataclass(frozen=True)
class RecordedStep:
    OPEN: ClassVar[bool] = True
    """A record says more of a step than is compared."""
    action: str
    address: str
    key: str
    """sha256 over all that can change the result."""
    outputs: str
    """sha256 of the tree of what the step put out."""
    source: str = field(metadata=named("from"))
    """Where the result came from, such as `ran here` or `remote cache`."""
    bytes: Size
    milliseconds: Size | None = None
    """How long the step took where it ran."""
    measured: Mapping[str, float] = field(default_factory=dict)
    """What a test measured, by name."""

    @property
    def name(self) -> tuple[str, str]:
        return self.action, self.address


@dataclass(frozen=True)
class BuildRecord:
    OPEN: ClassVar[bool] = True
    steps: tuple[RecordedStep, ...]


@dataclass(frozen=True)
class StepPair:
    """A step in two records; None where a record lacks it."""

    first: RecordedStep | None
    second: RecordedStep | None

    @property
    def name(self) -> str:
        """Action and address; both addresses where the target was renamed."""
        steps = [step for step in (self.first, self.second) if step is not None]
        addresses = dict.fromkeys(step.address for step in steps)
        return f"{steps[0].action} {' -> '.join(addresses)}"

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
    """Steps of a record that `--enginewright-record` wrote; raises `InputError` if it is none."""
    return read(BuildRecord, path).steps


def compare(first: Sequence[RecordedStep], second: Sequence[RecordedStep]) -> tuple[StepPair, ...]:
    """Pairs by action and address, in that order.

    Several steps of one name, such as a build that was repeated, are paired by key where they can
    be, and otherwise in the order of their keys. A step whose name is in one record alone is paired
    with one of the same action and key, else the same outputs: its target was renamed.
    """
    pairs: list[StepPair] = []
    for name in sorted({step.name for step in (*first, *second)}):
        left = sorted((s for s in first if s.name == name), key=lambda s: (s.key, s.outputs))
        right = sorted((s for s in second if s.name == name), key=lambda s: (s.key, s.outputs))
        pairs.extend(_matched(left, right, lambda step: step.key))
        length = max(len(left), len(right))
        padded = [[*side, *[None] * (length - len(side))] for side in (left, right)]
        pairs.extend(StepPair(a, b) for a, b in zip(*padded, strict=True))
    return tuple(_with_renamed(pairs, {s.name for s in first} & {s.name for s in second}))


def _matched(
    left: list[RecordedStep], right: list[RecordedStep], of: Callable[[RecordedStep], object]
) -> Iterator[StepPair]:
    """Take the steps out of both lists for which `of` says the same."""
    for step in [*left]:
        match = next((other for other in right if of(other) == of(step)), None)
        if match is not None:
            left.remove(step)
            right.remove(match)
            yield StepPair(step, match)


def _with_renamed(pairs: Sequence[StepPair], in_both: Set[tuple[str, str]]) -> list[StepPair]:
    left: list[RecordedStep] = []
    right: list[RecordedStep] = []
    kept = []
    for pair in pairs:
        if pair.second is None and pair.first and pair.first.name not in in_both:
            left.append(pair.first)
        elif pair.first is None and pair.second and pair.second.name not in in_both:
            right.append(pair.second)
        else:
            kept.append(pair)
    kept += _matched(left, right, lambda step: (step.action, step.key))
    kept += _matched(left, right, lambda step: (step.action, step.outputs))
    kept += [StepPair(step, None) for step in left]
    kept += [StepPair(None, step) for step in right]
    return sorted(kept, key=lambda pair: pair.name)


def render(pairs: Sequence[StepPair]) -> str:
    """A table, a line a step; then what is not deterministic, naming the step and both results."""
    rows = [("step", "first", "second", "result")]
    for pair in pairs:
        first, second = _describe(pair.first), _describe(pair.second)
        rows.append((pair.name, first, second, pair.verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
    for pair in pairs:
        if pair.is_nondeterministic and pair.first and pair.second:
            lines += [
                "",
                f"{pair.name} is not deterministic: the same key gave other results.",
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
