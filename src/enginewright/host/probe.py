"""Look at a host: `probe(source) -> Host`, the only place that puts the facts together."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from enginewright.host.compute_cache import compute_cache
from enginewright.host.container import container
from enginewright.host.fact import Fact, known, unknown
from enginewright.host.gpus import fact_of, gpus
from enginewright.host.libraries import (
    loaded_libraries,
    toolkits,
    user_space_driver,
    wheel_libraries,
)
from enginewright.host.model import Driver, Host, Library
from enginewright.host.sources import Source, UnavailableError, read_text
from enginewright.host.tensorrt import installed

_KERNEL_MODULE = re.compile(
    r"NVRM version:.{0,120}?Kernel Module(?: for \S{1,20})?\s+(\d+\.\d+(?:\.\d+)?)", re.ASCII
)
_NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "9p", "fuse.sshfs")
_NVIDIA = "0x10de"
_DISPLAY_CONTROLLER = "0x03"
"""PCI class 3; data-center cards without a display output belong to it too."""
_MAX_PCI_DEVICES = 1024


def probe(source: Source) -> Host:
    """All facts about a host; never raises for what the host lacks."""
    snapshot = source.nvml()
    libraries = loaded_libraries(source)
    release = _os_release(source)
    return Host(
        pci_gpus=_pci_gpus(source),
        gpus=gpus(snapshot),
        driver=_driver(source, snapshot, libraries),
        libraries=libraries,
        wheel_libraries=wheel_libraries(source),
        toolkits=toolkits(source),
        tensorrt=installed(source, libraries),
        container=container(source),
        compute_cache=compute_cache(source),
        distribution=_release_field(release, "ID"),
        distribution_like=tuple(release.get("ID_LIKE", "").split())[:8],
        distribution_version=_release_field(release, "VERSION_ID"),
        kernel=_kernel(source),
        network_mounts=_network_mounts(source),
    )


def _driver(source: Source, snapshot: Mapping[str, Any], libraries: tuple[Library, ...]) -> Driver:
    try:
        text = read_text(source, "/proc/driver/nvidia/version")
        module = kernel_module_version(text)
        is_open: Fact[bool] = known("Open Kernel Module" in text)
    except UnavailableError as error:
        module = unknown(f"/proc/driver/nvidia/version: {error}")
        is_open = unknown(f"/proc/driver/nvidia/version: {error}")
    reason = snapshot.get("error", "")
    code = snapshot.get("code")
    return Driver(
        kernel_module=module,
        kernel_module_open=is_open,
        user_space=user_space_driver(libraries),
        nvml=fact_of(snapshot, "driver_version", str),
        cuda=fact_of(snapshot, "cuda_driver_version", int).map(_cuda_version),
        nvml_error=str(reason)[:300],
        nvml_code=code if type(code) is int else None,
    )


def kernel_module_version(text: str) -> Fact[str]:
    """Version in the text of `/proc/driver/nvidia/version`, open and proprietary modules alike."""
    match = _KERNEL_MODULE.search(text)
    return known(match[1]) if match else unknown("the text has no `Kernel Module` version")


def _cuda_version(number: int) -> str:
    # cuda.h: 1000 times the major number plus 10 times the minor number.
    return f"{number // 1000}.{number % 1000 // 10}"


def _os_release(source: Source) -> dict[str, str]:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            text = read_text(source, path)
        except UnavailableError:
            continue
        return parse_os_release(text)
    return {}


def parse_os_release(text: str) -> dict[str, str]:
    """Assignments of an os-release file, unquoted; lines that are not assignments are skipped."""
    values = {}
    for line in text.splitlines():
        name, separator, value = line[:1000].partition("=")
        if separator and name.isidentifier():
            try:
                words = shlex.split(value)
            except ValueError:
                continue
            values[name] = words[0] if words else ""
    return values


def _release_field(release: Mapping[str, str], name: str) -> Fact[str]:
    value = release.get(name)
    return known(value) if value else unknown(f"os-release has no {name}")


def _kernel(source: Source) -> Fact[str]:
    try:
        return known(read_text(source, "/proc/sys/kernel/osrelease").strip()[:200] or "?")
    except UnavailableError as error:
        return unknown(f"/proc/sys/kernel/osrelease: {error}")


def _pci_gpus(source: Source) -> Fact[tuple[str, ...]]:
    base = "/sys/bus/pci/devices"
    try:
        addresses = source.list_directory(base)
    except UnavailableError as error:
        return unknown(f"{base}: {error}")
    found = []
    for address in addresses[:_MAX_PCI_DEVICES]:
        try:
            vendor = read_text(source, f"{base}/{address}/vendor").strip()
            kind = read_text(source, f"{base}/{address}/class").strip()
        except UnavailableError:
            continue
        if vendor == _NVIDIA and kind.startswith(_DISPLAY_CONTROLLER):
            found.append(address)
    return known(tuple(found))


def _network_mounts(source: Source) -> tuple[str, ...]:
    try:
        lines = read_text(source, "/proc/mounts").splitlines()
    except UnavailableError:
        return ()
    mounts = [line.split()[:3] for line in lines]
    return tuple(sorted(m[1] for m in mounts if len(m) == 3 and m[2] in _NETWORK_FILE_SYSTEMS))
