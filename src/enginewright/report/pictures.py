"""The two pictures of a report, as SVG inside the page. What they show stands in tables too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

ROW, WIDE, GAP = 34, 285, 50
BAR_WIDTH, BAR_ROW, LABEL = 360, 26, 230


@dataclass(frozen=True)
class Box:
    text: str
    is_new: bool = False
    """Whether the step ran, and did not come from a cache."""


def flow(columns: Sequence[tuple[str, Sequence[Box]]]) -> str:
    """Columns of boxes from left to right, each column joined with the next by one arrow.

    A record does not say which step read which file, so no line from box to box claims it.
    """
    tallest = max((len(boxes) for _, boxes in columns), default=0)
    width, height = len(columns) * (WIDE + GAP) - GAP + 4, (tallest + 1) * ROW + 8
    parts = [_svg(width, height, "Inputs, steps and files of the build")]
    for place, (title, boxes) in enumerate(columns):
        left = 2 + place * (WIDE + GAP)
        parts.append(f'<text x="{left}" y="18" font-weight="bold">{escape(title)}</text>')
        for row, box in enumerate(boxes, 1):
            top = row * ROW
            kind = "box ran" if box.is_new else "box"
            parts.append(
                f'<rect class="{kind}" x="{left}" y="{top}" width="{WIDE}" height="26" rx="4"/>'
                f'<text x="{left + 8}" y="{top + 18}">{escape(_short(box.text, 35))}</text>'
            )
        if place + 1 < len(columns):
            start, end = left + WIDE + 8, left + WIDE + GAP - 8
            parts.append(
                f'<path class="edge" d="M{start} 47H{end}M{end - 7} 41L{end} 47L{end - 7} 53"/>'
            )
    return "".join([*parts, "</svg>"])


@dataclass(frozen=True)
class Bar:
    label: str
    part: float
    """Of the whole; more than 1 does not fit."""
    said: str
    """The number, in words."""


def bars(name: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars on a common scale of 0 to 1."""
    height = len(rows) * BAR_ROW + 4
    return "".join(
        [_svg(LABEL + BAR_WIDTH + 200, height, name), *_bar_rows(rows), "</svg>"],
    )


def _bar_rows(rows: Sequence[Bar]) -> Iterator[str]:
    for place, row in enumerate(rows):
        top = place * BAR_ROW + 2
        length = min(1.0, row.part) * BAR_WIDTH
        kind = "bar" if row.part <= 1 else "over"
        yield f'<text x="0" y="{top + 16}">{escape(_short(row.label, 28))}</text>'
        yield f'<rect class="room" x="{LABEL}" y="{top}" width="{BAR_WIDTH}" height="20"/>'
        yield f'<rect class="{kind}" x="{LABEL}" y="{top}" width="{length:.1f}" height="20"/>'
        yield f'<text x="{LABEL + BAR_WIDTH + 8}" y="{top + 16}">{escape(row.said)}</text>'


def _svg(width: int, height: int, name: str) -> str:
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(name)}">'
    )


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
