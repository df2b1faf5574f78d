"""The error of each tensor of a quantized model, as the package of the model tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from enginewright.document import read
from enginewright.report.html import Section, paragraph, table, wide
from enginewright.report.pictures import Bar, bars
from enginewright.schema import Size


@dataclass(frozen=True)
class QuantizedTensor:
    OPEN: ClassVar[bool] = True
    name: str
    bytes_before: Size
    bytes_after: Size
    relative_error: float
    """Root of (sum of squared errors / sum of squared weights); 0 for kept weights."""
    kept: str
    """Why the weight stayed as it was; empty when it was quantized."""


@dataclass(frozen=True)
class QuantizationReport:
    OPEN: ClassVar[bool] = True
    tensors: tuple[QuantizedTensor, ...]


def quantization_section(path: Path) -> Section:
    """From the `report.json` of a packaged `quantized_model`; raises `InputError`."""
    tensors = read(QuantizationReport, path).tensors
    changed = [one for one in tensors if not one.kept]
    worst = max((one.relative_error for one in changed), default=0.0) or 1.0
    drawn = [
        Bar(_ending(one.name), one.relative_error / worst, f"{one.relative_error:.4g}")
        for one in changed
    ]
    rows = [
        [
            one.name,
            f"{one.bytes_before:,}",
            f"{one.bytes_after:,}",
            f"{one.relative_error:.4g}",
            one.kept or "quantized",
        ]
        for one in tensors
    ]
    said = (
        f"{len(changed)} of {len(tensors)} tensors are quantized. The longest bar is the largest "
        "relative error."
    )
    head = ["tensor", "bytes before", "bytes after", "relative error", "what was done"]
    body = paragraph(said) + wide("Errors of tensors", bars("Relative error by tensor", drawn))
    return Section("Quantization", body + table("Quantized tensors", head, rows))


def _ending(name: str, length: int = 28) -> str:
    """Names of weights begin alike."""
    return name if len(name) <= length else "…" + name[1 - length :]
