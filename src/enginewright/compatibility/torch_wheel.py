"""Whether torch's wheels have code for a GPU."""

from __future__ import annotations

from enginewright.compatibility.device_code import binary_runs, ptx_runs
from enginewright.compatibility.integrated import is_tegra
from enginewright.compatibility.tables import Row, row, table
from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import Problem


def wheel_problem(build: str, target: str) -> Problem | None:
    """Why wheel build `build` (`cu126`) has no kernel image for the GPU, or None when it has one.

    Machine code for X.Y runs on X.Z with Z >= Y; PTX for X.Y is compiled by the driver for anything
    newer. Raises `InputError` for a build that the table lacks.
    """
    found = row("torch_wheel", build)
    capability = ComputeCapability.parse(target)
    if is_tegra(capability):
        return _jetson(found, capability)
    codes = [ComputeCapability.parse(text) for text in found["compute_capabilities"]]
    if any(binary_runs(code, capability) for code in codes):
        return None
    if found["ptx"] and ptx_runs(ComputeCapability.parse(found["ptx"]), capability):
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


def _jetson(found: Row, capability: ComputeCapability) -> Problem:
    return Problem(
        f"torch's {found.key} wheels of this table are for x86-64, and {capability} is a Jetson",
        found.name,
        "a wheel for aarch64 of the board's JetPack release",
        f"{capability}; code for {', '.join(found['compute_capabilities'])}",
        "use NVIDIA's wheels or containers for Jetson. Machine code of desktop GPUs is not "
        "promised to run there, and reports disagree whether it does",
    )


def _misses(build: str, capability: ComputeCapability) -> bool:
    codes = [ComputeCapability.parse(c) for c in row("torch_wheel", build)["compute_capabilities"]]
    return not any(binary_runs(code, capability) for code in codes)
