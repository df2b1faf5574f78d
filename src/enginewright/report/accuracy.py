"""The report of an accuracy test, as `judge_accuracy` writes it, for a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from enginewright.document import read
from enginewright.report.html import Section, paragraph, table

_COLUMNS = (
    ("name", "run"),
    ("sequence_length", "tokens"),
    ("batch_size", "batch"),
    ("padding", "padding"),
    ("rows", "rows"),
    ("mean_cosine_similarity", "mean cosine"),
    ("worst_cosine_similarity", "worst cosine"),
    ("max_absolute_error", "greatest error"),
    ("top1_agreement", "top-1"),
    ("reference_perplexity", "perplexity of the reference"),
    ("perplexity", "perplexity"),
)


@dataclass(frozen=True)
class ReportedVerdict:
    OPEN: ClassVar[bool] = True
    measure: str
    measured: float | None
    bound: float | None
    relation: str
    where: str
    passed: bool


@dataclass(frozen=True)
class ReportedCoverage:
    OPEN: ClassVar[bool] = True
    not_reached: tuple[str, ...]


@dataclass(frozen=True)
class ReportedMeasurements:
    OPEN: ClassVar[bool] = True
    candidate: Mapping[str, Any]
    reference: Mapping[str, Any]
    coverage: ReportedCoverage
    runs: tuple[Mapping[str, Any], ...]
    total: Mapping[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AccuracyReport:
    OPEN: ClassVar[bool] = True
    verdicts: tuple[ReportedVerdict, ...]
    measurements: ReportedMeasurements


def read_accuracy(path: Path) -> AccuracyReport:
    """Of a `report.json`; raises `InputError` with all its problems."""
    return read(AccuracyReport, path)


def accuracy_section(report: AccuracyReport) -> Section:
    """What was measured, each bound beside its number, and each run by its length."""
    measurements = report.measurements
    bounds = [
        [
            "pass" if verdict.passed else "FAIL",
            verdict.measure,
            _number(verdict.measured),
            verdict.relation,
            _number(verdict.bound),
            verdict.where,
        ]
        for verdict in report.verdicts
    ]
    runs = [*measurements.runs, {**measurements.total, "name": "total"}]
    shown = [(key, title) for key, title in _COLUMNS if any(key in run for run in runs)]
    rows = [[_number(run.get(key)) for key, _ in shown] for run in runs]
    heard = measurements.candidate.get("measured", "not said")
    said = [f"Measured: {heard}.", *(f"NOT MEASURED: {gap}" for gap in _gaps(measurements))]
    head = ["verdict", "number", "measured", "relation", "bound", "where"]
    body = "".join(map(paragraph, [*said, *measurements.notes]))
    body += table("Bounds", head, bounds)
    body += table("Accuracy by length", [title for _, title in shown], rows)
    return Section("Accuracy", body)


def _gaps(measurements: ReportedMeasurements) -> tuple[str, ...]:
    return measurements.coverage.not_reached


def _number(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.8g}" if isinstance(value, float) else str(value)
