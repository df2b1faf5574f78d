"""The board: system memory, and the signs of a GPU that is part of the processor."""

from __future__ import annotations

import re

from enginewright.host.fact import Fact, known, unknown
from enginewright.host.model import Board, Memory
from enginewright.host.sources import Source, UnavailableError, read_text

_RELEASE = re.compile(r"#\s*R(\d{1,3})\s*\(release\),\s*REVISION:\s*(\d+(?:\.\d+)*)", re.ASCII)
_NODES = re.compile(r"nvmap|nvgpu|nvhost-\S+", re.ASCII)
_MAX_NODES = 64


def memory(source: Source) -> Memory:
    """MemTotal and MemAvailable of `/proc/meminfo`, in bytes."""
    try:
        text = read_text(source, "/proc/meminfo")
    except UnavailableError as error:
        return Memory(unknown(f"/proc/meminfo: {error}"), unknown(f"/proc/meminfo: {error}"))
    return Memory(_field(text, "MemTotal"), _field(text, "MemAvailable"))


def _field(text: str, name: str) -> Fact[int]:
    match = re.search(rf"^{name}:\s*(\d{{1,15}}) kB", text, re.MULTILINE | re.ASCII)
    return known(int(match[1]) << 10) if match else unknown(f"/proc/meminfo has no {name}")


def board(source: Source) -> Board:
    """Device tree, Jetson Linux's release file, and device nodes of an integrated GPU."""
    return Board(_model(source), _tegra_release(source), _nodes(source))


def _model(source: Source) -> Fact[str]:
    path = "/proc/device-tree/model"
    try:
        text = read_text(source, path).rstrip("\0\n").strip()[:120]
    except UnavailableError as error:
        return unknown(f"{path}: {error}")
    return known(text) if text else unknown(f"{path} is empty")


def _tegra_release(source: Source) -> Fact[str]:
    path = "/etc/nv_tegra_release"
    try:
        match = _RELEASE.search(read_text(source, path))
    except UnavailableError as error:
        return unknown(f"{path}: {error}")
    return known(f"{match[1]}.{match[2]}") if match else unknown(f"{path} has no release")


def _nodes(source: Source) -> tuple[str, ...]:
    try:
        names = source.list_directory("/dev")
    except UnavailableError:
        return ()
    return tuple(f"/dev/{name}" for name in names if _NODES.fullmatch(name))[:_MAX_NODES]
