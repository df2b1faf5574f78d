"""What the records say of one target, or of all of them, from commit to commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from enginewright.commands.record_comparison import RecordedStep
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.history.records import NamedRecord

ALL = "all targets"
_RAN = "ran"


@dataclass(frozen=True)
class Moment:
    """One record's numbers."""

    name: str
    """Of the record."""
    bytes: int
    """That the steps put out; a step that ran twice counts once."""
    spent: float
    """Seconds of steps that ran."""
    saved: float
    """Seconds that steps took elsewhere or before, whose results came from a cache."""
    built: int
    """Steps that ran."""
    cached: int
    """Steps whose results came from a cache."""
    measured: Mapping[str, float]
    """Numbers of an accuracy test by name."""

    @property
    def hits(self) -> float:
        """The part of the steps that came from a cache, 0 to 1."""
        return self.cached / (self.built + self.cached)


@dataclass(frozen=True)
class Course:
    target: str
    moments: tuple[Moment | None, ...]
    """One a record; None where it has no step of the target."""

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of all numbers that were measured at any time."""
        return tuple(
            sorted({name for moment in self.moments if moment for name in moment.measured})
        )


def courses(records: Sequence[NamedRecord], targets: Sequence[str] = ()) -> tuple[Course, ...]:
    """All targets together, then each; with `targets` only those.

    Raises `InputError` for targets that no record has.
    """
    known = sorted({step.address for record in records for step in record.steps})
    listed = ", ".join(known) or "none"
    raise_if_any(
        [
            Problem("no record has a step of this target", target, f"one of {listed[:800]}")
            for target in targets
            if target not in known
        ]
    )
    if not known:
        raise InputError(Problem("the records have no steps", records[0].name))
    whole = () if targets else (Course(ALL, tuple(_moment(r.name, r.steps) for r in records)),)
    return (*whole, *(_course_of(target, records) for target in targets or known))


def _course_of(target: str, records: Sequence[NamedRecord]) -> Course:
    of_target = [
        _moment(record.name, [step for step in record.steps if step.address == target])
        for record in records
    ]
    return Course(target, tuple(of_target))


def _moment(name: str, steps: Sequence[RecordedStep]) -> Moment | None:
    if not steps:
        return None
    spent = saved = built = 0
    for step in steps:
        if step.source.startswith(_RAN):
            built += 1
            spent += step.milliseconds or 0
        else:
            saved += step.milliseconds or 0
    sizes = {(step.action, step.address, step.outputs): step.bytes for step in steps}
    # Both steps of a test say the same; of several tests no number is that of all.
    measured = {tuple(sorted(step.measured.items())) for step in steps if step.measured}
    numbers = dict(measured.pop()) if len(measured) == 1 else {}
    cached = len(steps) - built
    total = sum(sizes.values())
    return Moment(name, total, spent / 1000, saved / 1000, built, cached, numbers)
