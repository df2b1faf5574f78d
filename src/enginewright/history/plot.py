"""Courses as an SVG picture: a panel for each number, a point for each record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from enginewright.history.course import Course, Moment
from enginewright.history.records import NamedRecord

WIDTH = 720
PANEL = 130
"""Height of a panel, its title included."""
LEFT, RIGHT, TOP, BOTTOM = 20, 20, 44, 14
"""Margins of the line inside a panel."""
STYLE = (
    "svg{color:#1a1a1a;background:#fff;font:13px sans-serif}"
    "text{fill:currentColor}.line{fill:none;stroke:#0b62a8;stroke-width:2}"
    ".point{fill:#0b62a8}.axis{stroke:#777}"
    "@media(prefers-color-scheme:dark){svg{color:#eee;background:#161616}"
    ".line{stroke:#6cb6ff}.point{fill:#6cb6ff}}"
)


@dataclass(frozen=True)
class Panel:
    title: str
    values: tuple[float | None, ...]
    """One a record; None where there is none."""
    names: tuple[str, ...]
    """Of the records."""


def render(found: Sequence[Course], records: Sequence[NamedRecord]) -> str:
    """The text of an SVG file; it needs nothing beside itself and follows dark and light."""
    panels = [panel for course in found for panel in _panels(course, records)]
    height = PANEL * len(panels)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img" aria-label="History of builds">',
            f"<style>{STYLE}</style>",
            *(line for place, panel in enumerate(panels) for line in _draw(panel, place * PANEL)),
            "</svg>",
            "",
        ]
    )


def _panels(course: Course, records: Sequence[NamedRecord]) -> Iterator[Panel]:
    names = tuple(record.name for record in records)
    own: tuple[tuple[str, Callable[[Moment], float]], ...] = (
        ("bytes", lambda moment: moment.bytes),
        ("seconds built", lambda moment: moment.spent),
        ("part from a cache", lambda moment: moment.hits),
    )
    for title, value in own:
        values = tuple(None if moment is None else value(moment) for moment in course.moments)
        yield Panel(f"{course.target}: {title}", values, names)
    for measure in course.measures:
        values = tuple(m.measured.get(measure) if m else None for m in course.moments)
        yield Panel(f"{course.target}: {measure}", values, names)


def _draw(panel: Panel, top: int) -> Iterator[str]:
    there = [value for value in panel.values if value is not None]
    low, high = min(there), max(there)
    limits = f"{low:,.6g} to {high:,.6g}" if low < high else f"always {low:,.6g}"
    yield f'<text x="{LEFT}" y="{top + 20}">{escape(panel.title)}: {limits}</text>'
    floor = top + PANEL - BOTTOM
    yield f'<path class="axis" d="M{LEFT} {floor + 6}H{WIDTH - RIGHT}"/>'
    for line in _unbroken(panel, top):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in line)
        yield f'<polyline class="line" points="{points}"/>'
        for x, y, label in line:
            shown = f"<title>{escape(label)}</title>"
            yield f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="3">{shown}</circle>'


def _unbroken(panel: Panel, top: int) -> Iterator[list[tuple[float, float, str]]]:
    """Where a record has no value the line is broken: nothing is known there."""
    there = [value for value in panel.values if value is not None]
    low, high = min(there), max(there)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(panel.values) - 1)
    line: list[tuple[float, float, str]] = []
    for index, value in enumerate(panel.values):
        if value is None:
            if line:
                yield line
            line = []
            continue
        part = (value - low) / (high - low) if low < high else 0.5
        y = top + PANEL - BOTTOM - part * (PANEL - TOP - BOTTOM)
        line.append((LEFT + index * step, y, f"{panel.names[index]}: {value:,.6g}"))
    if line:
        yield line
