"""The report of an accuracy test, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from enginewright.errors import Problem
from enginewright.validation.judgement import Verdict

_COLUMNS = (
    ("number", "run"),
    ("name", ""),
    ("sequence_length", "tokens"),
    ("batch_size", "batch"),
    ("padding", "padding"),
    ("rows", "rows"),
    ("mean_cosine_similarity", "mean cosine"),
    ("worst_cosine_similarity", "worst cosine"),
    ("max_absolute_error", "max error"),
    ("max_relative_error", "relative"),
    ("top1_agreement", "top-1"),
    ("reference_perplexity", "ref. ppl"),
    ("perplexity", "ppl"),
)


def render(
    measurements: Mapping[str, Any],
    verdicts: Sequence[Verdict],
    contradictions: Sequence[Problem] = (),
) -> str:
    """What was measured and what was not; each bound with its number; each run."""
    bounds = [
        [
            "pass" if verdict.passed else "FAIL",
            verdict.measure,
            _cell(verdict.measured),
            verdict.relation,
            _cell(verdict.bound),
            "default" if verdict.is_default else "",
            verdict.where,
        ]
        for verdict in verdicts
    ]
    numbered = [{"number": n, **run} for n, run in enumerate(measurements["runs"], 1)]
    runs = [*numbered, {"name": "total", **measurements["total"]}]
    shown = [(key, title) for key, title in _COLUMNS if any(key in run for run in runs)]
    rows = [[_cell(run.get(key, "")) for key, _ in shown] for run in runs]
    return "\n".join(
        [
            *_head(measurements),
            "",
            _table(["", "number", "measured", "", "bound", "", "where"], bounds),
            *(
                f"FAIL  {problem.what}: {problem.actual}; {problem.where}"
                for problem in contradictions
            ),
            "",
            _table([title for _, title in shown], rows),
            "",
        ]
    )


def _head(measurements: Mapping[str, Any]) -> list[str]:
    candidate, reference = measurements["candidate"], measurements["reference"]
    coverage = measurements["coverage"]
    greatest = coverage["greatest"] or "not known"
    tokens = f"rows of up to {coverage['longest']} tokens, the greatest is {greatest}; "
    tokens = tokens if coverage["longest"] is not None else ""
    return [
        f"task {measurements['task']}",
        f"measured: {candidate['measured']}",
        f"          {candidate['provider']}, {candidate['arithmetic']}",
        f"reference: {reference['library']}, {reference['dtype']}; {reference['output']}",
        f"dataset: {coverage['samples']} of {coverage['samples_there']} {coverage['sample']}",
        f"{tokens}up to {coverage['largest_batch']} at once",
        *(f"NOT MEASURED: {gap}" for gap in coverage["not_reached"]),
        *(f"note: {note}" for note in measurements["notes"]),
    ]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.8f}" if isinstance(value, float) else str(value)


def _table(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *rows]
    ]
    return "\n".join(lines)
