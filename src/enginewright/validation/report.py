"""The report of an accuracy test, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from enginewright.validation.judgement import Verdict

_COLUMNS = (
    ("sequence_length", "tokens"),
    ("batch_size", "batch"),
    ("padding", "padding"),
    ("with_past", "past"),
    ("rows", "rows"),
    ("mean_cosine_similarity", "mean cosine"),
    ("worst_cosine_similarity", "worst cosine"),
    ("max_absolute_error", "max error"),
    ("top1_agreement", "top-1"),
    ("reference_perplexity", "ref. ppl"),
    ("perplexity", "ppl"),
)


def render(measurements: Mapping[str, Any], verdicts: Sequence[Verdict]) -> str:
    """Two tables: each bound with its number, and each run."""
    bounds = [
        [
            "pass" if verdict.passed else "FAIL",
            verdict.measure,
            _cell(verdict.measured),
            verdict.relation,
            _cell(verdict.bound),
        ]
        for verdict in verdicts
    ]
    runs = [*measurements["runs"], {"sequence_length": "total", **measurements["total"]}]
    shown = [(key, title) for key, title in _COLUMNS if any(key in run for run in runs)]
    rows = [[_cell(run.get(key, "")) for key, _ in shown] for run in runs]
    return "\n".join(
        [
            f"task {measurements['task']}; candidate: {measurements['candidate']['provider']}, "
            f"{measurements['candidate']['arithmetic']}; reference: "
            f"{measurements['reference']['library']}, {measurements['reference']['dtype']}",
            "",
            _table(["", "number", "measured", "", "bound"], bounds),
            "",
            _table([title for _, title in shown], rows),
            "",
        ]
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.8f}" if isinstance(value, float) else str(value)


def _table(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *rows]
    ]
    return "\n".join(lines)
