"""What an engine needs of the GPU that runs it, whatever product built it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from enginewright.compatibility.version import ComputeCapability, Version


@dataclass(frozen=True)
class DeviceNeeds:
    cuda: str
    """Release of CUDA that the product was built with, such as `13.0`."""
    minimum_driver: Version
    compute_capabilities: tuple[ComputeCapability, ...]
    """Those that it has code for; empty where it has code for the device that built it alone."""
    device: str
    """Name of the GPU that it was tuned on; empty where it was tuned on none."""
    profiles: tuple[Mapping[str, int], ...]
    """Greatest size of each named axis, in each range that the engine is made for."""
