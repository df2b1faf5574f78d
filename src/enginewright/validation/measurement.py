"""What a task's room gets to measure with, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from enginewright.engines.backend import Backend
from enginewright.tasks.interface import Interface
from enginewright.validation.comparison import Comparison
from enginewright.validation.measurement_request import MeasurementRequest


@dataclass(frozen=True)
class Candidate:
    """The engine that is measured, or what stands for it."""

    interface: Interface
    backend: Backend
    files: Mapping[str, Path]
    """What is served with it (tokenizer, pooling, prompts), by path in its package."""


@dataclass(frozen=True)
class ReferenceFiles:
    """The checkpoint's own."""

    config: Path
    weights: tuple[Path, ...]
    """Safetensors files, with their index."""
    others: Mapping[str, Path]
    """By path in the checkpoint."""


@dataclass(frozen=True)
class Run:
    """One way to feed the engine."""

    name: str
    batch_size: int
    padding: str = "none"
    """`none`, or the side on which shorter rows are filled up."""
    sequence_length: int | None = None
    """None where rows have lengths of their own."""
    is_whole: bool = False
    """Whether it sees all samples, each once: the total's perplexity is that of such runs."""
    comparison: Comparison = field(default_factory=Comparison)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "batch_size": self.batch_size,
            "padding": self.padding,
            "sequence_length": self.sequence_length,
            **self.comparison.to_json(),
        }


@dataclass(frozen=True)
class Coverage:
    """What was reached, and in words what was not: nothing is left out in silence."""

    samples: int
    samples_there: int
    sample: str
    """What a sample is: `lines`, or `tokens`."""
    longest: int | None
    """Tokens of the longest row; None where rows are no tokens."""
    greatest: int | None
    """Tokens that engine and model allow; None where neither says."""
    largest_batch: int
    not_reached: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "not_reached": list(self.not_reached)}


@dataclass(frozen=True)
class Measured:
    runs: Sequence[Run]
    coverage: Coverage
    reference: str
    """What the reference does after the model, and which file says so."""
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    """More numbers of the task, as JSON."""

    def total(self) -> Comparison:
        total = Comparison()
        for run in self.runs:
            total.merge(run.comparison, with_predictions=run.is_whole)
        return total

    def document(
        self,
        task: str,
        reference: Mapping[str, str],
        candidate: Mapping[str, str],
        versions: Mapping[str, str],
    ) -> dict[str, Any]:
        """`measurements.json`: numbers, and of what.

        `reference` is `library`, `dtype` and `device`; `candidate` is what the report tells of it.
        """
        return {
            "task": task,
            "reference": {**reference, "output": self.reference},
            "candidate": dict(candidate),
            "versions": dict(versions),
            "runs": [item.to_json() for item in self.runs],
            "total": self.total().to_json(),
            "coverage": self.coverage.to_json(),
            "notes": list(self.notes),
            **self.details,
        }


class FileMeasurement(Protocol):
    """The module `measure` of a room that compares with a file of the model."""

    def measure_file(
        self,
        candidate: Candidate,
        reference: Path,
        dataset: Path | None,
        request: MeasurementRequest,
    ) -> Measured: ...


class Measurement(Protocol):
    """The module `measure` of a room."""

    def measure(
        self,
        candidate: Candidate,
        reference: ReferenceFiles,
        dataset: Path,
        request: MeasurementRequest,
    ) -> Measured: ...
