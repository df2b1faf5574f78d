"""Courses as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from enginewright.history.course import Course, Moment
from enginewright.history.records import NamedRecord

HEAD = ("record", "bytes", "s built", "s saved", "built", "cached", "hits")


def render(found: Sequence[Course], records: Sequence[NamedRecord]) -> str:
    """A block for each target: a line for each record, in the order of the records."""
    return "\n\n".join(_block(course, records) for course in found)


def _block(course: Course, records: Sequence[NamedRecord]) -> str:
    head = [*HEAD, *course.measures]
    rows = [head]
    for record, moment in zip(records, course.moments, strict=True):
        cells = ["-"] * (len(head) - 1) if moment is None else _cells(moment, course.measures)
        rows.append([record.name, *cells])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row in rows:
        first = row[0].ljust(widths[0])
        others = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([first, *others]))
    return "\n".join([course.target, *lines])


def _cells(moment: Moment, measures: Sequence[str]) -> list[str]:
    return [
        f"{moment.bytes:,}",
        f"{moment.spent:.1f}",
        f"{moment.saved:.1f}",
        str(moment.built),
        str(moment.cached),
        f"{moment.hits:.0%}",
        *(_number(moment.measured.get(name)) for name in measures),
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
