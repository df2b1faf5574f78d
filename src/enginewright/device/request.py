"""What a test on a device is asked, decoded and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from enginewright.schema import NOT_EMPTY, Count, Name
from enginewright.validation.judgement import Positive, Thresholds
from enginewright.validation.measurement_request import MeasurementRequest

Baseline = Literal["eager", "compiled"]


@dataclass(frozen=True)
class DeviceTest:
    """Parameters of `measure_on_device`."""

    device: Name
    """Name of the GPU, as NVML says it; another one is refused."""
    measurement: MeasurementRequest
    thresholds: Thresholds
    max_error_ratio: Positive | None = None
    """Relative error of the engine, by that of PyTorch in the engine's type."""
    found: Mapping[str, Any] | None = None
    """The GPU of the host that asks: for the key, and not read."""


@dataclass(frozen=True)
class SpeedRequest:
    batches: Annotated[tuple[Count, ...], NOT_EMPTY]
    """Rows at once; bounds and baselines are for the first."""
    prompt_tokens: Count
    new_tokens: Count
    warmup: Count
    """Generations before the first one that counts."""
    repeats: Count
    """Generations that count; their median is reported."""


@dataclass(frozen=True)
class Benchmark:
    """Parameters of `benchmark_on_device`."""

    device: Name
    task: Name
    room: Name
    """Of the product."""
    speed: SpeedRequest
    baselines: tuple[Baseline, ...] = ()
    max_load_seconds: Positive | None = None
    max_first_token_seconds: Positive | None = None
    min_tokens_per_second: Positive | None = None
    min_speedup: Positive | None = None
    """Over the fastest baseline."""
    found: Mapping[str, Any] | None = field(default=None)
    """As in `DeviceTest`."""
