"""GPUs that are part of a processor and share its memory."""

from __future__ import annotations

from enginewright.compatibility.tables import Row, table
from enginewright.compatibility.version import ComputeCapability


def integrated_row(*names: str | None) -> Row | None:
    """The row that one of the names (of NVML, of the device tree) belongs to, or None."""
    for row in table("integrated_gpu").values():
        if any(row["match"].lower() in name.lower() for name in names if name):
            return row
    return None


def is_tegra(capability: ComputeCapability) -> bool:
    """Whether only boards of Jetson Linux have this compute capability."""
    return any(
        row["tegra"] and ComputeCapability.parse(row["compute_capability"]) == capability.base
        for row in table("integrated_gpu").values()
    )
