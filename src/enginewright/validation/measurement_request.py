"""What to measure: parameters of the step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from enginewright.engines.limits import Limits
from enginewright.schema import Count


@dataclass(frozen=True)
class MeasurementRequest:
    task: str
    """A name of `tasks.registry`."""
    limits: Limits = field(default_factory=Limits)
    """Of an engine that is measured by its graph, which has no limits of its own."""
    room: str | None = None
    """The room of the product, where its engine itself is measured."""
    positions: Count | None = None
    """Tokens that the model was made for; None where its config does not say."""
    max_length: Count = 4096
    """Longest sequence that is measured: the reference needs memory for the square of it."""
    max_samples: Count | None = None
    """At most so many windows or lines of the dataset; None is all of it."""
    shapes: tuple[Mapping[str, Count], ...] = ()
    """Sizes of the dynamic axes, a row for each call, where no dataset gives arrays."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Name in the engine of inputs and outputs that the reference calls otherwise."""
    reference_dtype: Literal["float32", "float64", "bfloat16", "float16"] = "float32"
    reference_device: Literal["cpu", "cuda"] = "cpu"
    threads: Count = 1
    """Of each library; the order of summation, so the last digits, depends on it."""
