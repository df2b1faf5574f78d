"""The GPUs that PCI shows, against those that the driver has: two sources of one fact."""

from __future__ import annotations

from enginewright.doctor.check import CannotCheckError
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.in_container import in_container
from enginewright.host.model import Host, PciGpu

KEPT_FOR_GUESTS = ("vfio-pci", "pci-stub", "xen-pciback")
"""Kernel drivers that hand a device to a virtual machine: the host is not meant to use it."""


def gpu_source_findings(host: Host) -> list[Finding]:
    """GPUs that one source has and another lacks; raises `CannotCheckError` with one source."""
    findings = _nvml_itself(host)
    if findings:
        return findings
    if _has_no_pci(host):
        return []
    if host.pci_gpus.value is None:
        raise CannotCheckError(f"the PCI bus cannot be asked: {host.pci_gpus.unknown}")
    addresses, count, source = _driver_view(host)
    here = [gpu for gpu in host.pci_gpus.value if gpu.driver.value not in KEPT_FOR_GUESTS]
    lacking = [gpu for gpu in here if gpu.address not in addresses] if addresses else here
    if count < len(here) and lacking:
        return [_missing(host, here, lacking, count, source)]
    if count > len(host.pci_gpus.value):
        return [_more(host, count, source)]
    return []


def _has_no_pci(host: Host) -> bool:
    """WSL shows no PCI GPU, and an integrated one is no PCI device."""
    integrated = host.board.tegra_release.known or bool(host.board.nodes)
    return bool(host.container.wsl.value or integrated)


def _driver_view(host: Host) -> tuple[frozenset[str], int, str]:
    """Addresses as far as they are known, the number, and who says so."""
    if host.gpus.value is not None:
        found = [gpu.pci_address.value for gpu in host.gpus.value]
        known = frozenset(address for address in found if address)
        count = max(len(found), host.nvml_count.value or 0)
        return (known if len(known) == len(found) else frozenset()), count, "NVML lists"
    if host.driver_gpus.value is not None:
        listed = frozenset(gpu.address for gpu in host.driver_gpus.value)
        return listed, len(listed), "/proc/driver/nvidia/gpus lists"
    if not host.driver.kernel_module.known:
        # That no driver is loaded is a finding of its own.
        raise CannotCheckError("no driver lists its GPUs")
    raise CannotCheckError(f"{host.gpus.unknown}; {host.driver_gpus.unknown}")


def _nvml_itself(host: Host) -> list[Finding]:
    """NVML against its own count and against the kernel module's list."""
    if host.gpus.value is None:
        return []
    listed, count = len(host.gpus.value), host.nvml_count.value
    module = host.driver_gpus.value
    if count is not None and count != listed:
        seen = f"NVML counts {count} GPUs and describes {listed}"
    elif module is not None and len(module) > listed and not in_container(host):
        lacking = {gpu.address for gpu in module}
        lacking -= {gpu.pci_address.value or "" for gpu in host.gpus.value}
        seen = (
            f"the kernel module has {len(module)} GPUs, NVML lists {listed}: "
            + ", ".join(sorted(lacking))
            + " among those that may be lost"
        )
    elif listed == 0 and not _has_no_pci(host) and not host.pci_gpus.value:
        seen = "the driver is loaded, and NVML lists no GPU"
    else:
        return []
    return [
        Finding(
            "driver.gpu-lost",
            Link.DRIVER,
            Severity.ERROR,
            seen,
            "the driver could not start a GPU, or lost it (`GPU is lost`, `Xid 79`): programs do "
            "not see it",
            "read: sudo dmesg | grep -iE 'nvrm|xid'; a GPU that fell off the bus comes back after "
            "a cold start, else look at power, seat and cooling",
        )
    ]


def _missing(
    host: Host, here: list[PciGpu], lacking: list[PciGpu], count: int, source: str
) -> Finding:
    places = ", ".join(
        f"{gpu.address} (kernel driver: {gpu.driver.value or 'none'})" for gpu in lacking
    )
    seen = f"the PCI bus shows {len(here)} NVIDIA GPUs, {source} {count}; " + (
        f"missing: {places}"
        if len(lacking) == len(here) - count
        else f"one or more is missing of: {places}"
    )
    if in_container(host):
        return Finding(
            "container.gpus-not-granted",
            Link.CONTAINER,
            Severity.NOTE,
            seen,
            "a container sees the bus of the whole machine, and the GPUs that it was granted",
            "nothing to do where that is meant; else start it with --gpus all",
        )
    return Finding(
        "hardware.gpu-without-driver",
        Link.HARDWARE,
        Severity.ERROR,
        seen,
        "the GPU is in the machine, and the driver does not have it: it failed to start, fell off "
        "the bus, was excluded, or another kernel driver holds it",
        "read: sudo dmesg | grep -iE 'nvrm|xid'; and: lspci -k -s ADDRESS. Where `nouveau` holds "
        "it, blacklist that module and reboot",
    )


def _more(host: Host, count: int, source: str) -> Finding:
    return Finding(
        "hardware.gpus-not-on-the-bus",
        Link.HARDWARE,
        Severity.WARNING,
        f"{source} {count} GPUs, the PCI bus shows {len(host.pci_gpus.value or ())}",
        "one of the two does not show the whole machine, as in a sandbox that hides /sys",
        "examine the machine outside: enginewright collect FILE there",
    )
