"""What is asked of a build, decoded and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enginewright.products.aotinductor.device import Gpu

DTYPES = ("bfloat16", "float16", "float32")


@dataclass(frozen=True)
class ShapeLimits:
    """The greatest sizes that an engine takes."""

    batch: int
    sequence: int
    """Tokens of one call."""
    reach: int
    """Tokens of the cache: prompt and answer together."""


@dataclass(frozen=True)
class CompileRequest:
    task: str
    dtype: str
    limits: ShapeLimits
    gpu: Gpu | None
    """None compiles for the processor."""
    compiler: str
    """Path of the C++ driver."""
    tuning: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Configuration by kernel name; the compiler's first one for a kernel that is not named."""
