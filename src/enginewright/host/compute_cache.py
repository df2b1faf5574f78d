"""The CUDA driver's cache of kernels that it compiled from PTX."""

from __future__ import annotations

from enginewright.host.fact import Fact, known, unknown
from enginewright.host.model import ComputeCache
from enginewright.host.sources import Source, UnavailableError, variable

_MAX_ENTRIES = 20000
_MAX_DEPTH = 4


def compute_cache(source: Source) -> ComputeCache:
    """Size and age of the cache at CUDA_CACHE_PATH, by default `~/.nv/ComputeCache`."""
    if variable(source, "CUDA_CACHE_DISABLE") == "1":
        return _unknown(unknown("switched off: CUDA_CACHE_DISABLE is 1"))
    home = variable(source, "HOME")
    path = variable(source, "CUDA_CACHE_PATH") or (f"{home}/.nv/ComputeCache" if home else None)
    if path is None:
        return _unknown(unknown("neither CUDA_CACHE_PATH nor HOME is set"))
    sizes: list[int] = []
    times: list[int] = []
    try:
        _walk(source, path, 0, sizes, times)
    except UnavailableError as error:
        return _unknown(known(path), f"{path}: {error}")
    oldest: Fact[int] = (
        known(max(0, source.now() - min(times))) if times else unknown("the cache is empty")
    )
    return ComputeCache(known(path), known(sum(sizes)), oldest, known(len(sizes)))


def _unknown(path: Fact[str], reason: str = "") -> ComputeCache:
    why = reason or path.unknown
    return ComputeCache(path, unknown(why), unknown(why), unknown(why))


def _walk(source: Source, path: str, depth: int, sizes: list[int], times: list[int]) -> None:
    for name in source.list_directory(path):
        if len(sizes) >= _MAX_ENTRIES:
            raise UnavailableError(f"more than {_MAX_ENTRIES} files")
        status = source.status(f"{path}/{name}")
        if status.kind == "file":
            sizes.append(status.size)
            times.append(status.modified)
        elif status.kind == "directory" and depth < _MAX_DEPTH:
            _walk(source, f"{path}/{name}", depth + 1, sizes, times)
