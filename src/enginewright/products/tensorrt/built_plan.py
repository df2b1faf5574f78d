"""What the builder says of a plan that it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from enginewright.products.tensorrt.optimization_profile import OptimizationProfile
from enginewright.schema import Sha256, matches

PLAN_NAME = "engine.plan"
Capability = Annotated[str, matches(r"\d{1,3}\.\d[af]?", 'major and minor, as "8.6"')]


@dataclass(frozen=True)
class BuiltPlan:
    profiles: tuple[OptimizationProfile, ...]
    compute_capabilities: tuple[Capability, ...]
    """Those that the plan has code for."""
    weight_streaming: bool
    libraries: Mapping[str, Sha256]
    """File name -> sha256 of the shared libraries that made the plan."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The builder's, by their names; null was left to the product."""
