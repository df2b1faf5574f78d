"""What a run reports beside its results."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enginewright.engines.backend import Backend


@dataclass(frozen=True)
class Report:
    document: Mapping[str, Any]
    """For programs; without the figures of this host it is reproducible."""
    figures: str
    """One line for people: speed and peak memory."""


def memory(backend: Backend) -> dict[str, int]:
    """Bytes: the peak of this process, and what is in use on the device where there is one."""
    # Linux counts in KiB.
    peak = {"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    device = backend.device_bytes()
    return peak if device is None else {**peak, "device_bytes": device}


def memory_text(backend: Backend) -> str:
    used = memory(backend)
    text = f"peak memory {used['peak_bytes'] / 1e6:.0f} MB"
    if "device_bytes" in used:
        text += f", {used['device_bytes'] / 1e6:.0f} MB of the GPU in use"
    return text
