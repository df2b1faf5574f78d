"""Look at a host: `probe(source) -> Host`, the only place that puts the facts together."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from enginewright.host.board import board, memory
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
from enginewright.host.model import Driver, Host, Library, Visibility
from enginewright.host.pci import driver_gpus, pci_gpus
from enginewright.host.sources import Source, UnavailableError, read_text
from enginewright.host.tensorrt import installed

_KERNEL_MODULE = re.compile(
    r"NVRM version:.{0,120}?Kernel Module(?: for \S{1,20})?\s+(\d+\.\d+(?:\.\d+)?)", re.ASCII
)
NOT_SET = "not set"
"""The reason of a variable's fact where the variable is not set."""
_NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "9p", "fuse.sshfs")


def probe(source: Source) -> Host:
    """All facts about a host; never raises for what the host lacks."""
    snapshot = source.nvml()
    libraries = loaded_libraries(source)
    release = _os_release(source)
    return Host(
        pci_gpus=pci_gpus(source),
        driver_gpus=driver_gpus(source),
        gpus=gpus(snapshot),
        nvml_count=fact_of(snapshot, "device_count", int),
        memory=memory(source),
        board=board(source),
        visibility=Visibility(
            cuda_devices=_variable(source, "CUDA_VISIBLE_DEVICES"),
            cuda_order=_variable(source, "CUDA_DEVICE_ORDER"),
            container_devices=_variable(source, "NVIDIA_VISIBLE_DEVICES"),
        ),
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


def _variable(source: Source, name: str) -> Fact[str]:
    try:
        value = source.environment(name)
    except UnavailableError as error:
        return unknown(f"{name}: {error}")
    return unknown(NOT_SET) if value is None else known(value[:4096])


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


def _network_mounts(source: Source) -> tuple[str, ...]:
    try:
        lines = read_text(source, "/proc/mounts").splitlines()
    except UnavailableError:
        return ()
    mounts = [line.split()[:3] for line in lines]
    return tuple(sorted(m[1] for m in mounts if len(m) == 3 and m[2] in _NETWORK_FILE_SYSTEMS))
