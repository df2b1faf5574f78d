"""What to export: parameters of the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from enginewright.exporters.opsets import OPSETS
from enginewright.schema import one_of
from enginewright.tasks.registry import task_names


@dataclass(frozen=True)
class ExportSpec:
    """Every axis of the task's signature stays dynamic in the graph."""

    task: Annotated[str, one_of(task_names)]
    opset: Annotated[int, one_of(OPSETS["torch"])]
    dtype: Literal["bfloat16", "float16", "float32"]
    """Of weights and arithmetic."""
