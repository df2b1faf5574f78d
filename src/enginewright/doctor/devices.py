"""The devices that a CUDA program sees: GPUs, or MIG instances, as far as variables show them.

Sources: CUDA C++ Programming Guide, "CUDA Environment Variables" (CUDA_VISIBLE_DEVICES ends at the
first entry that names no device; CUDA_DEVICE_ORDER), and the MIG User Guide, "CUDA device
enumeration" (a program sees instances of a GPU in MIG mode, never the GPU itself).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from enginewright.compatibility.integrated import integrated_row
from enginewright.doctor.check import CannotCheckError
from enginewright.doctor.hardware import is_jetson, listed_gpus, shares_system_memory
from enginewright.host.fact import Fact, known, unknown
from enginewright.host.model import Gpu, Host, MigInstance
from enginewright.host.probe import NOT_SET


@dataclass(frozen=True)
class Device:
    """What a program allocates on."""

    label: str
    """`GPU 0, NVIDIA H200` or `MIG instance 1 of GPU 0, NVIDIA H200`."""
    name: Fact[str]
    uuid: Fact[str]
    compute_capability: Fact[str]
    memory_total: Fact[int]
    memory_free: Fact[int]
    gpu: int | None
    """NVML's index of the GPU, None for an integrated one that NVML does not list."""


@dataclass(frozen=True)
class Selection:
    """What CUDA_VISIBLE_DEVICES leaves of the devices."""

    devices: tuple[Device, ...]
    unmatched: str = ""
    """The first entry that names no device; CUDA ignores it and all that follow."""


def all_devices(host: Host) -> tuple[Device, ...]:
    """Every device, whatever is visible; raise `CannotCheckError` where none can be listed."""
    if host.gpus.value:
        return tuple(
            device for index, gpu in enumerate(host.gpus.value) for device in _of(host, index, gpu)
        )
    if is_jetson(host):
        return (_board_gpu(host),)
    listed_gpus(host)
    return ()


def _of(host: Host, index: int, gpu: Gpu) -> list[Device]:
    label = f"GPU {index}, {gpu.name}"
    whole = Device(
        label,
        gpu.name,
        gpu.uuid,
        gpu.compute_capability,
        gpu.memory_total,
        gpu.memory_free,
        index,
    )
    if gpu.mig.value:
        if gpu.mig_instances.value is None:
            reason = f"{label} is in MIG mode, and its instances are unknown"
            return [
                replace(whole, memory_total=unknown(reason), memory_free=unknown(reason)),
            ]
        return [_instance(whole, n, one) for n, one in enumerate(gpu.mig_instances.value)]
    if shares_system_memory(gpu):
        memory = host.memory
        return [replace(whole, memory_total=memory.total, memory_free=memory.available)]
    if gpu.memory_total.value == 0:
        return [replace(whole, memory_total=unknown("NVML says 0 bytes, which is no size"))]
    return [whole]


def _instance(whole: Device, number: int, instance: MigInstance) -> Device:
    total = instance.memory_total
    return replace(
        whole,
        label=f"MIG instance {number} of {whole.label}",
        uuid=known(instance.uuid),
        memory_total=total if total.value != 0 else unknown("NVML says 0 bytes"),
        memory_free=instance.memory_free,
    )


def _board_gpu(host: Host) -> Device:
    """The GPU of a Jetson whose NVML does not list it."""
    row = integrated_row(host.board.model.value)
    why = "NVML does not show the GPU of this board, and the tables do not know the board: "
    capability: Fact[str] = (
        known(row["compute_capability"]) if row else unknown(why + str(host.board.model))
    )
    name = host.board.model if row else unknown(why + str(host.board.model))
    label = f"the GPU of {host.board.model.value or 'this Jetson board'}"
    memory = host.memory
    return Device(label, name, unknown(why), capability, memory.total, memory.available, None)


def visible_devices(host: Host) -> Selection:
    """The devices that CUDA_VISIBLE_DEVICES leaves, all where it is not set.

    Raises `CannotCheckError` where the devices, or what an entry names, cannot be known.
    """
    devices = all_devices(host)
    chosen = host.visibility.cuda_devices
    if chosen.value is None:
        if chosen.unknown != NOT_SET:
            raise CannotCheckError(f"CUDA_VISIBLE_DEVICES is unknown: {chosen.unknown}")
        return Selection(devices)
    found: list[Device] = []
    for entry in (text.strip() for text in chosen.value.split(",")):
        matching = _named(entry, devices)
        if not matching or any(one in found for one in matching):
            return Selection(tuple(found), entry or "(empty)")
        found += matching
    return Selection(tuple(found))


def _named(entry: str, devices: tuple[Device, ...]) -> list[Device]:
    if entry.isdecimal() and entry.isascii():
        return [device for device in devices if device.gpu == int(entry[:9])] or (
            [devices[0]] if int(entry[:9]) == 0 and devices and devices[0].gpu is None else []
        )
    if not entry.lower().startswith(("gpu-", "mig-")):
        return []
    unknown_ids = [device.uuid.unknown for device in devices if not device.uuid.known]
    if unknown_ids:
        raise CannotCheckError(f"CUDA_VISIBLE_DEVICES names `{entry[:80]}`: {unknown_ids[0]}")
    matching = [one for one in devices if (one.uuid.value or "").lower().startswith(entry.lower())]
    return matching if len(matching) == 1 else []
