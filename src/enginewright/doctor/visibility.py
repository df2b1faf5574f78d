"""What variables hide: a GPU that no program sees does not run anything."""

from __future__ import annotations

from enginewright.doctor.devices import Selection, all_devices, visible_devices
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.hardware import listed_gpus
from enginewright.host.model import Host

BY_BUS = "PCI_BUS_ID"


def visibility_findings(host: Host) -> list[Finding]:
    """Findings about CUDA_VISIBLE_DEVICES; raises `CannotCheckError` where nothing can be said."""
    devices, selection = all_devices(host), visible_devices(host)
    value = host.visibility.cuda_devices.value
    if value is None or not devices:
        return []
    said = f"CUDA_VISIBLE_DEVICES is `{value[:200]}`"
    if not selection.devices:
        return [_nothing(said, selection, len(devices))]
    findings = []
    if selection.unmatched:
        findings.append(_unmatched(said, selection))
    elif len(selection.devices) < len(devices):
        findings.append(_subset(said, selection, len(devices)))
    return [*findings, *_order(host, value)]


def _nothing(said: str, selection: Selection, count: int) -> Finding:
    return Finding(
        "cuda.no-visible-device",
        Link.CUDA,
        Severity.ERROR,
        f"{said}: of {count} devices CUDA shows none; `{selection.unmatched}` names no device",
        "CUDA programs stop with `no CUDA-capable device is detected`, while NVML and nvidia-smi "
        "show every GPU",
        "unset CUDA_VISIBLE_DEVICES, or name a device: an index, or a UUID of `nvidia-smi -L`",
    )


def _unmatched(said: str, selection: Selection) -> Finding:
    seen = ", ".join(device.label for device in selection.devices)
    return Finding(
        "cuda.unknown-visible-device",
        Link.CUDA,
        Severity.WARNING,
        f"{said}: `{selection.unmatched}` names no device here, or one twice; CUDA shows {seen}",
        "CUDA ignores the first entry that names no device and every entry after it",
        "name devices of `nvidia-smi -L`, each once",
    )


def _subset(said: str, selection: Selection, count: int) -> Finding:
    seen = ", ".join(device.label for device in selection.devices)
    return Finding(
        "cuda.visible-devices",
        Link.CUDA,
        Severity.NOTE,
        f"{said}: of {count} devices CUDA shows {seen}",
        "the others do not count for what runs and what fits here",
        "nothing to do where that is meant",
    )


def _order(host: Host, value: str) -> list[Finding]:
    names = sorted({str(gpu.name) for gpu in listed_gpus(host)}) if host.gpus.value else []
    has_index = any(part.strip().isdecimal() for part in value.split(","))
    if len(names) < 2 or not has_index or host.visibility.cuda_order.value == BY_BUS:
        return []
    return [
        Finding(
            "cuda.device-order",
            Link.CUDA,
            Severity.WARNING,
            f"CUDA_VISIBLE_DEVICES counts by index, the GPUs differ ({', '.join(names)}),"
            f" and CUDA_DEVICE_ORDER is {host.visibility.cuda_order}",
            "CUDA counts from the fastest GPU, nvidia-smi by the PCI address: one index may mean "
            "two GPUs",
            f"set CUDA_DEVICE_ORDER={BY_BUS}, or use UUIDs",
        )
    ]
