"""The GPU of this host, and whether it is the one that a test is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enginewright.errors import InputError, Problem
from enginewright.host import nvml


@dataclass(frozen=True)
class DeviceFacts:
    """What can change a measurement on the first GPU that NVML lists, and is no measurement."""

    name: str
    compute_capability: str
    driver: str
    memory_bytes: int
    greatest_clocks_mhz: Mapping[str, int]
    """Of `sm` and `memory`."""
    power_limit_watts: float | None = None
    """None where NVML does not tell."""


def find_device(snapshot: Mapping[str, Any] | None = None) -> DeviceFacts:
    """Raises `InputError` where there is no GPU, with NVML's reason. Asks NVML and loads no CUDA.

    `snapshot` is that of `host.nvml`, of this host where there is none.
    """
    asked = nvml.load() if snapshot is None else snapshot
    devices = asked.get("devices") or ()
    if not devices or "error" in devices[0]:
        reason = asked.get("error") or (devices[0]["error"] if devices else "NVML lists none")
        raise InputError(
            Problem("this host has no NVIDIA GPU", "NVML", "a GPU and its driver", str(reason))
        )
    first = devices[0]
    power = first["power_limit_milliwatts"]
    return DeviceFacts(
        name=str(first["name"]),
        compute_capability=".".join(map(str, first["compute_capability"])),
        driver=str(asked["driver_version"]),
        memory_bytes=first["memory_total"],
        greatest_clocks_mhz={
            part: clock
            for part in ("sm", "memory")
            if isinstance(clock := first[f"greatest_{part}_clock_mhz"], int)
        },
        power_limit_watts=power / 1000 if isinstance(power, int) else None,
    )


def require_device(wanted: str) -> DeviceFacts:
    """The GPU here; raises `InputError` unless it is a `wanted`, before anything is loaded."""
    found = find_device()
    if found.name != wanted:
        raise InputError(
            Problem(
                "the test is for another GPU than the one here",
                "field `device` of the test",
                wanted,
                found.name,
                "run it on a host with that GPU, or write a test for this one",
            )
        )
    return found


def used_bytes() -> int | None:
    """Of that GPU's memory, by all processes; None where NVML does not tell."""
    devices: Sequence[Mapping[str, Any]] = nvml.load().get("devices") or ({},)
    total, free = devices[0].get("memory_total"), devices[0].get("memory_free")
    return total - free if isinstance(total, int) and isinstance(free, int) else None


def clocks_now_mhz() -> Mapping[str, int]:
    """Of `sm` and `memory`, where NVML tells them."""
    device: Mapping[str, Any] = (nvml.load().get("devices") or ({},))[0]
    found = {part: device.get(f"{part}_clock_mhz") for part in ("sm", "memory")}
    return {part: clock for part, clock in found.items() if isinstance(clock, int)}
