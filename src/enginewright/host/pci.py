"""GPUs on the PCI bus, and those that the kernel module has taken over."""

from __future__ import annotations

import posixpath
import re

from enginewright.host.fact import Fact, known, unknown
from enginewright.host.model import DriverGpu, PciGpu
from enginewright.host.sources import Source, UnavailableError, read_text

_NVIDIA = "0x10de"
_DISPLAY_CONTROLLER = "0x03"
"""PCI class 3; data-center cards without a display output belong to it too."""
_MAX_DEVICES = 1024
_MODEL = re.compile(r"^Model:\s*(\S.{0,120}?)\s*$", re.MULTILINE)
_MINOR = re.compile(r"^Device Minor:\s*(\d{1,4})\s*$", re.MULTILINE | re.ASCII)


def pci_gpus(source: Source) -> Fact[tuple[PciGpu, ...]]:
    """NVIDIA's controllers in `/sys/bus/pci/devices`, by address."""
    base = "/sys/bus/pci/devices"
    try:
        addresses = source.list_directory(base)
    except UnavailableError as error:
        return unknown(f"{base}: {error}")
    found = []
    for address in addresses[:_MAX_DEVICES]:
        try:
            vendor = read_text(source, f"{base}/{address}/vendor").strip()
            kind = read_text(source, f"{base}/{address}/class").strip()
        except UnavailableError:
            continue
        if vendor == _NVIDIA and kind.startswith(_DISPLAY_CONTROLLER):
            found.append(PciGpu(address, _kernel_driver(source, f"{base}/{address}/driver")))
    return known(tuple(found))


def _kernel_driver(source: Source, link: str) -> Fact[str]:
    try:
        target = source.status(link).target
    except UnavailableError as error:
        return unknown(f"no kernel driver has it: {error}")
    return known(posixpath.basename(target)) if target else unknown(f"{link} is no link")


def driver_gpus(source: Source) -> Fact[tuple[DriverGpu, ...]]:
    """What the kernel module lists; in a container its runtime shows the granted GPUs alone."""
    base = "/proc/driver/nvidia/gpus"
    try:
        addresses = source.list_directory(base)
    except UnavailableError as error:
        return unknown(f"{base}: {error}")
    return known(tuple(_driver_gpu(source, base, name) for name in addresses[:_MAX_DEVICES]))


def _driver_gpu(source: Source, base: str, address: str) -> DriverGpu:
    path = f"{base}/{address}/information"
    try:
        text = read_text(source, path)
    except UnavailableError as error:
        return DriverGpu(address, unknown(f"{path}: {error}"), unknown(f"{path}: {error}"))
    model, minor = _MODEL.search(text), _MINOR.search(text)
    return DriverGpu(
        address,
        known(model[1]) if model else unknown(f"{path} has no `Model`"),
        known(int(minor[1])) if minor else unknown(f"{path} has no `Device Minor`"),
    )
