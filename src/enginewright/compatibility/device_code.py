"""Whether machine code or PTX for one compute capability runs on a device of another.

Source: CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility", "Family-specific
features" and "Architecture-specific features".
"""

from __future__ import annotations

from enginewright.compatibility.integrated import is_tegra
from enginewright.compatibility.version import ComputeCapability


def binary_runs(code: ComputeCapability, device: ComputeCapability) -> bool:
    """Code for X.Y runs on X.Z with Z >= Y, code for X.Ya on X.Y alone."""
    if code.variant == "a":
        return code.base == device.base
    return code.major == device.major and code.minor <= device.minor


def ptx_runs(code: ComputeCapability, device: ComputeCapability) -> bool:
    """The driver compiles PTX for X.Y for every newer device, PTX of a variant as its code."""
    return binary_runs(code, device) if code.variant else code.base <= device.base


def closeness(code: ComputeCapability) -> tuple[int, int, int]:
    """To choose among code that runs: the greater one was compiled more closely for the device."""
    return code.major, code.minor, ("", "f", "a").index(code.variant)


def crosses_to_jetson(code: ComputeCapability, device: ComputeCapability) -> bool:
    """Whether code of a desktop GPU would run on a Jetson, or the other way round.

    NVIDIA promises no binary compatibility there (CUDA C++ Programming Guide, "Binary
    Compatibility"); public reports disagree whether machine code of 8.0 runs on 8.7.
    """
    return code.base != device.base and is_tegra(code) != is_tegra(device)
