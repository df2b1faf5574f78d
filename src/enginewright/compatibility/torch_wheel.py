"""Whether torch's wheels have code for a GPU."""

from __future__ import annotations

from enginewright.compatibility.tables import row, table
from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import Problem


def wheel_problem(build: str, target: str) -> Problem | None:
    """Why wheel build `build` (`cu126`) has no kernel image for the GPU, or None when it has one.

    Machine code for X.Y runs on X.Z with Z >= Y; PTX for X.Y is compiled by the driver for anything
    newer. Raises `InputError` for a build that the table lacks.
    """
    found = row("torch_wheel", build)
    capability = ComputeCapability.parse(target)
    codes = [ComputeCapability.parse(text) for text in found["compute_capabilities"]]
    if any(code.major == capability.major and code.minor <= capability.minor for code in codes):
        return None
    if found["ptx"] and ComputeCapability.parse(found["ptx"]) <= capability:
        return None
    able = [key for key in table("torch_wheel") if key != build and not _misses(key, capability)]
    side = "older" if capability < min(codes) else "newer"
    return Problem(
        f"torch's {build} wheels have no kernel image for compute capability {capability}: "
        f"it is {side} than what they were compiled for",
        found.name,
        ", ".join(found["compute_capabilities"]),
        str(capability),
        f"lock a wheel that has it: {', '.join(able) or 'none in the table'}",
    )


def _misses(build: str, capability: ComputeCapability) -> bool:
    codes = [ComputeCapability.parse(c) for c in row("torch_wheel", build)["compute_capabilities"]]
    return not any(c.major == capability.major and c.minor <= capability.minor for c in codes)
