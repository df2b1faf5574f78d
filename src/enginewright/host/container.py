"""What stands between a process and the hardware: container, device nodes, limits, WSL."""

from __future__ import annotations

import contextlib
import re

from enginewright.host.fact import Fact, known, unknown
from enginewright.host.model import Container, DeviceNode, Limits
from enginewright.host.sources import Source, UnavailableError, read_text, variable

_NODE = re.compile(r"nvidia(\d+|ctl|-uvm|-uvm-tools|-modeset)|dxg", re.ASCII)
_IN_CGROUP = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("containerd", "containerd"),
    ("lxc", "lxc"),
)
_UNLIMITED_V1 = 1 << 62
"""Version 1 writes a number near 2^63 for no limit."""
UNLIMITED = "unlimited"
_MAX_DEPTH = 32


def container(source: Source) -> Container:
    runtime, evidence = _runtime(source)
    return Container(
        runtime=runtime,
        evidence=evidence,
        device_nodes=device_nodes(source),
        shared_memory=_shared_memory(source),
        wsl=_wsl(source),
        limits=limits(source),
    )


def _exists(source: Source, path: str) -> bool:
    try:
        source.status(path)
    except UnavailableError:
        return False
    return True


def _runtime(source: Source) -> tuple[Fact[str], str]:
    if variable(source, "KUBERNETES_SERVICE_HOST"):
        return known("kubernetes"), "KUBERNETES_SERVICE_HOST is set"
    if _exists(source, "/run/.containerenv"):
        return known("podman"), "/run/.containerenv exists"
    if _exists(source, "/.dockerenv"):
        return known("docker"), "/.dockerenv exists"
    named = variable(source, "container")
    if named and re.fullmatch(r"[\w.-]{1,40}", named):
        return known(named), "the environment variable `container`"
    try:
        text = read_text(source, "/proc/1/cgroup")
    except UnavailableError as error:
        return unknown(f"/proc/1/cgroup: {error}"), ""
    for word, runtime in _IN_CGROUP:
        if word in text:
            return known(runtime), f"`{word}` in /proc/1/cgroup"
    return known("none"), "no sign of a container"


def device_nodes(source: Source) -> Fact[tuple[DeviceNode, ...]]:
    """NVIDIA's device nodes (and WSL's `/dev/dxg`) with their permissions."""
    try:
        names = source.list_directory("/dev")
    except UnavailableError as error:
        return unknown(f"/dev: {error}")
    nodes = []
    for name in names:
        if _NODE.fullmatch(name):
            try:
                status = source.status(f"/dev/{name}")
            except UnavailableError:
                continue
            nodes.append(DeviceNode(f"/dev/{name}", f"{status.mode:04o}", status.kind))
    return known(tuple(nodes))


def _shared_memory(source: Source) -> Fact[int]:
    try:
        return known(source.filesystem_size("/dev/shm"))
    except UnavailableError as error:
        return unknown(f"/dev/shm: {error}")


def _wsl(source: Source) -> Fact[bool]:
    try:
        release = read_text(source, "/proc/sys/kernel/osrelease").lower()
    except UnavailableError as error:
        return unknown(f"/proc/sys/kernel/osrelease: {error}")
    return known("microsoft" in release)


def limits(source: Source) -> Limits:
    """Memory and processors of the control group, version 2 or 1.

    In version 2 every group above the process's own limits it too: the lowest counts.
    """
    memories, processors = [], []
    for folder in _groups(source):
        with contextlib.suppress(UnavailableError):
            memories.append(_bytes(read_text(source, f"{folder}/memory.max")))
            processors.append(_cpus_v2(source, folder))
    if not memories:
        return _limits_v1(source)
    return Limits(known(2), _lowest(memories), _lowest(processors))


def _groups(source: Source) -> list[str]:
    """Folders of the process's control group and of all above it, down to the root."""
    base = "/sys/fs/cgroup"
    try:
        lines = read_text(source, "/proc/self/cgroup").splitlines()
    except UnavailableError:
        return [base]
    path = next((line[3:].strip("/") for line in lines if line.startswith("0::/")), "")
    parts = [part for part in path.split("/") if part and part != ".."][:_MAX_DEPTH]
    return ["/".join([base, *parts[:end]]) for end in range(len(parts), -1, -1)]


def _lowest(found: list[Fact[str]]) -> Fact[str]:
    numbers = [fact for fact in found if fact.value not in (None, UNLIMITED)]
    if numbers:
        return min(numbers, key=lambda fact: float(fact.value or 0))
    return next((fact for fact in found if fact.known), found[0])


def _limits_v1(source: Source) -> Limits:
    base = "/sys/fs/cgroup"
    try:
        memory = _bytes(read_text(source, f"{base}/memory/memory.limit_in_bytes"))
        version: Fact[int] = known(1)
    except UnavailableError as error:
        memory = unknown(f"no limit file under {base}: {error}")
        version = unknown(f"neither memory.max nor memory.limit_in_bytes under {base}")
    try:
        quota = read_text(source, f"{base}/cpu/cpu.cfs_quota_us").strip()
        period = read_text(source, f"{base}/cpu/cpu.cfs_period_us").strip()
        cpus = _cpus(UNLIMITED if quota == "-1" else quota, period)
    except UnavailableError as error:
        cpus = unknown(f"cpu.cfs_quota_us: {error}")
    return Limits(version, memory, cpus)


def _cpus_v2(source: Source, folder: str) -> Fact[str]:
    try:
        fields = read_text(source, f"{folder}/cpu.max").split()
    except UnavailableError as error:
        return unknown(f"cpu.max: {error}")
    if len(fields) != 2:
        return unknown("cpu.max does not have two fields")
    return _cpus(UNLIMITED if fields[0] == "max" else fields[0], fields[1])


def _cpus(quota: str, period: str) -> Fact[str]:
    if quota == UNLIMITED:
        return known(UNLIMITED)
    if not (_number(quota) and _number(period)) or int(period) == 0:
        return unknown("quota and period are not numbers")
    return known(f"{int(quota) / int(period):g}")


def _bytes(text: str) -> Fact[str]:
    text = text.strip()
    if text == "max" or (_number(text) and int(text) >= _UNLIMITED_V1):
        return known(UNLIMITED)
    return known(text) if _number(text) else unknown("the limit is not a number")


def _number(text: str) -> bool:
    return bool(re.fullmatch(r"\d{1,20}", text, re.ASCII))
