"""First link: is there a GPU, do the sources agree about it, and does its slot do it justice?"""

from __future__ import annotations

from typing import Any

from enginewright.compatibility.integrated import integrated_row
from enginewright.doctor.check import CannotCheckError, Check
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.gpu_sources import gpu_source_findings
from enginewright.host.fact import Fact
from enginewright.host.model import Gpu, Host

NO_GPU = (
    "No NVIDIA GPU here. What still works: checking and exporting models, building engines ahead "
    "of time, running those that need no GPU, validating on the CPU, sizing, locking. What does "
    "not: running an engine that needs one, and building for products that tune on the device."
)
NO_GPU_SEEN = "No NVIDIA GPU was seen, but not every source could be asked: there may be one."
_LARGEST_MEMORY = 4 << 40
"""Bytes; more than any GPU has."""


def signs_of_a_gpu(host: Host) -> tuple[str, ...]:
    """What shows that there is an NVIDIA GPU, of all sources."""
    board = host.board
    signs = {
        "the PCI bus": host.pci_gpus.value,
        "NVML": host.gpus.value,
        "/proc/driver/nvidia/gpus": host.driver_gpus.value,
        "the kernel module": host.driver.kernel_module.known,
        "device nodes": host.container.device_nodes.value or board.nodes,
        "/etc/nv_tegra_release": board.tegra_release.known,
        "the device tree": integrated_row(board.model.value),
        "a kernel of Jetson Linux": (host.kernel.value or "").endswith("-tegra"),
    }
    return tuple(name for name, sign in signs.items() if sign)


def silent_sources(host: Host) -> tuple[str, ...]:
    """Sources that could not say whether there is a GPU; NVML cannot where no module is loaded."""
    facts: tuple[Fact[Any], ...] = (host.pci_gpus, host.container.device_nodes)
    return tuple(fact.unknown for fact in facts if not fact.known)


def hardware_checks(host: Host) -> list[Check]:
    """Checks of the cards and of what says that they are there."""
    return [
        Check("GPUs of PCI and driver", Link.HARDWARE, lambda: gpu_source_findings(host)),
        Check("plausible values", Link.HARDWARE, lambda: _implausible(host)),
        Check("MIG instances", Link.HARDWARE, lambda: _mig(host)),
        Check("PCIe lanes", Link.HARDWARE, lambda: _pcie(host)),
        Check("integrated GPU", Link.HARDWARE, lambda: _integrated(host)),
    ]


def listed_gpus(host: Host) -> tuple[Gpu, ...]:
    """NVML's GPUs; raise `CannotCheckError` where it did not list any way."""
    if host.gpus.value is None:
        raise CannotCheckError(f"the GPUs are unknown: {host.gpus.unknown}")
    return host.gpus.value


def shares_system_memory(gpu: Gpu) -> bool:
    """Whether the GPU has no memory of its own."""
    return integrated_row(gpu.name.value) is not None


def _implausible(host: Host) -> list[Finding]:
    seen = []
    for index, gpu in enumerate(listed_gpus(host)):
        total, free = gpu.memory_total.value, gpu.memory_free.value
        zero_is_no_news = total == 0 and shares_system_memory(gpu)
        if total is not None and not 0 < total <= _LARGEST_MEMORY and not zero_is_no_news:
            seen.append(f"GPU {index} has {total} bytes of memory")
        elif total is not None and free is not None and not 0 <= free <= total:
            seen.append(f"GPU {index} has {free} bytes free of {total}")
        if gpu.compute_capability.value in ("0.0", "0.1"):
            seen.append(f"GPU {index} has compute capability {gpu.compute_capability}")
    if host.memory.total.value == 0:
        seen.append("the system has 0 bytes of memory")
    if not seen:
        return []
    return [
        Finding(
            "hardware.implausible",
            Link.HARDWARE,
            Severity.WARNING,
            "; ".join(seen),
            "no such hardware exists: the driver or what stands between (a virtual machine, a "
            "broken library) gives a value that means nothing, and what follows from it is void",
            "compare with `nvidia-smi -q` on the machine itself, then collect the facts there",
        )
    ]


def _mig(host: Host) -> list[Finding]:
    empty = [
        f"GPU {index}, {gpu.name}"
        for index, gpu in enumerate(listed_gpus(host))
        if gpu.mig.value and gpu.mig_instances.value == ()
    ]
    if not empty:
        return []
    return [
        Finding(
            "hardware.mig-without-instances",
            Link.HARDWARE,
            Severity.ERROR,
            "MIG is on, and there is no instance: " + ", ".join(empty),
            "in MIG mode programs see instances instead of the GPU: without one they see nothing",
            "make instances: sudo nvidia-smi mig -lgip (which there can be), then "
            "sudo nvidia-smi mig -cgi PROFILE -C; or switch MIG off: sudo nvidia-smi -mig 0",
        )
    ]


def _pcie(host: Host) -> list[Finding]:
    findings = []
    unknown = []
    for index, gpu in enumerate(listed_gpus(host)):
        width, widest = gpu.pcie_width.value, gpu.pcie_width_max.value
        if shares_system_memory(gpu):
            continue
        if width is None or widest is None:
            unknown.append(f"GPU {index}: {gpu.pcie_width.unknown or gpu.pcie_width_max.unknown}")
        elif width < widest:
            findings.append(
                Finding(
                    "hardware.pcie-width",
                    Link.HARDWARE,
                    Severity.NOTE,
                    f"GPU {index} uses {width} of {widest} PCIe lanes",
                    "copies between host and GPU are slower than they could be; some cards use "
                    "fewer lanes while idle",
                    "look again under load; if it stays, seat the card in a full slot",
                )
            )
    if unknown and not findings:
        raise CannotCheckError("; ".join(unknown))
    return findings


def _integrated(host: Host) -> list[Finding]:
    """What kind of board it is, where the GPU is part of the processor."""
    board = host.board
    names = [gpu.name.value for gpu in host.gpus.value or ()]
    row = integrated_row(*names, board.model.value)
    if row is None and not is_jetson(host):
        return []
    what = board.model.value or (row.key if row else "a Jetson board")
    release = f", Jetson Linux R{board.tegra_release}" if board.tegra_release.known else ""
    total = host.memory.total.map(lambda value: f"{value / (1 << 30):.1f} GiB")
    nvml = "" if host.gpus.value else "; NVML does not show the GPU"
    return [
        Finding(
            "hardware.integrated-gpu",
            Link.HARDWARE,
            Severity.NOTE,
            f"{what}{release}: the GPU is part of the processor and shares {total} of system "
            f"memory{nvml}",
            "it is no card: the PCI bus need not show it, and what fits is decided by the memory "
            "that other programs leave",
            "nothing to do; use packages for aarch64"
            + (" of this JetPack release" if is_jetson(host) else ""),
        )
    ]


def is_jetson(host: Host) -> bool:
    """Whether Jetson Linux brings the driver, which then is neither NVML's nor a PCI device's."""
    row = integrated_row(host.board.model.value)
    return bool(
        host.board.tegra_release.known
        or (row is not None and row["tegra"])
        or (host.kernel.value or "").endswith("-tegra")
        or host.board.nodes
    )
