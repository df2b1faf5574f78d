"""First link: is there a GPU, and does its slot do it justice?"""

from __future__ import annotations

from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.host.model import Host

NO_GPU = (
    "No NVIDIA GPU here. What still works: checking and exporting models, building TensorRT for "
    "RTX engines, validating in ONNX Runtime on the CPU, sizing, locking. What does not: running "
    "an engine, and building for products that tune on the device."
)


def has_gpu(host: Host) -> bool:
    """Whether anything shows a GPU: the PCI bus, NVML, a device node or the kernel module."""
    return bool(
        host.pci_gpus.value
        or host.gpus.value
        or host.driver.kernel_module.known
        or host.container.device_nodes
    )


def hardware_findings(host: Host) -> list[Finding]:
    """Findings about the cards that NVML lists."""
    findings = []
    for index, gpu in enumerate(host.gpus.value or ()):
        width, widest = gpu.pcie_width.value, gpu.pcie_width_max.value
        if width and widest and width < widest:
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
    return findings
