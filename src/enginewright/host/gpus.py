"""Turn NVML's snapshot into facts. A bundle's snapshot is untrusted: every type is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from enginewright.host.fact import Fact, known, unknown
from enginewright.host.model import Gpu, MigInstance

T = TypeVar("T", bool, int, str)
_MAX_TEXT = 200


def gpus(snapshot: Mapping[str, Any]) -> Fact[tuple[Gpu, ...]]:
    """All GPUs that NVML lists; unknown when NVML did not start."""
    if "error" in snapshot:
        return unknown(f"NVML: {str(snapshot['error'])[:_MAX_TEXT]}")
    devices = snapshot.get("devices")
    if not isinstance(devices, list):
        return unknown(_reason(snapshot.get("device_count"), "NVML did not list devices"))
    return known(tuple(_gpu(device) for device in devices))


def _gpu(device: Any) -> Gpu:
    if not isinstance(device, Mapping):
        device = {"error": "not a description of a device"}
    if "error" in device:
        device = {name: {"unknown": str(device["error"])} for name in Gpu.__dataclass_fields__}
    return Gpu(
        name=fact_of(device, "name", str),
        uuid=fact_of(device, "uuid", str),
        pci_address=fact_of(device, "pci_address", str).map(_address),
        minor=fact_of(device, "minor", int),
        compute_capability=_capability(device.get("compute_capability")),
        memory_total=fact_of(device, "memory_total", int),
        memory_free=fact_of(device, "memory_free", int),
        ecc=fact_of(device, "ecc", bool),
        mig=fact_of(device, "mig", bool),
        mig_instances=_mig(device.get("mig_instances")),
        persistence=fact_of(device, "persistence", bool),
        compute_mode=_compute_mode(fact_of(device, "compute_mode", int)),
        power_limit_milliwatts=fact_of(device, "power_limit_milliwatts", int),
        pcie_generation=fact_of(device, "pcie_generation", int),
        pcie_generation_max=fact_of(device, "pcie_generation_max", int),
        pcie_width=fact_of(device, "pcie_width", int),
        pcie_width_max=fact_of(device, "pcie_width_max", int),
    )


def fact_of(values: Mapping[str, Any], name: str, kind: type[T]) -> Fact[T]:
    """The value where it has the right type, else why it is unknown."""
    value = values.get(name)
    if type(value) is kind:
        return known(value[:_MAX_TEXT] if isinstance(value, str) else value)
    return unknown(_reason(value, "NVML did not say"))


def _reason(value: Any, otherwise: str) -> str:
    if isinstance(value, Mapping) and isinstance(value.get("unknown"), str):
        return value["unknown"][:_MAX_TEXT] or otherwise
    return otherwise


def _capability(value: Any) -> Fact[str]:
    if (
        isinstance(value, list)
        and len(value) == 2
        and all(type(item) is int and 0 <= item < 1000 for item in value)
    ):
        return known(f"{value[0]}.{value[1]}")
    return unknown(_reason(value, "NVML did not say"))


def _mig(value: Any) -> Fact[tuple[MigInstance, ...]]:
    if not isinstance(value, list):
        return unknown(_reason(value, "NVML did not say"))
    return known(
        tuple(
            MigInstance(
                item["uuid"][:_MAX_TEXT],
                fact_of(item, "memory_total", int),
                fact_of(item, "memory_free", int),
            )
            for item in value
            if isinstance(item, Mapping) and isinstance(item.get("uuid"), str)
        )
    )


def _address(text: str) -> str:
    """NVML writes eight digits of the PCI domain, the kernel four."""
    domain, separator, rest = text.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if separator else text.lower()


_COMPUTE_MODES = ("default", "exclusive thread", "prohibited", "exclusive process")
"""By number: nvmlComputeMode_t of nvml.h."""


def _compute_mode(number: Fact[int]) -> Fact[str]:
    value = number.value
    if value is not None and not 0 <= value < len(_COMPUTE_MODES):
        return unknown(f"NVML says {value}, which nvml.h does not have")
    return number.map(lambda mode: _COMPUTE_MODES[mode])
