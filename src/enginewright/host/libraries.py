"""Shared libraries that a process would load, in the dynamic loader's own order."""

from __future__ import annotations

import posixpath
import re

from enginewright.host import ld_cache
from enginewright.host.fact import Fact, known, unknown
from enginewright.host.model import Library, Toolkit, WheelLibrary
from enginewright.host.sources import Source, UnavailableError, read_text, variable

NAMES = (
    "libcuda",
    "libnvidia-ml",
    "libcudart",
    "libcublas",
    "libcublasLt",
    "libcudnn",
    "libcufft",
    "libnvrtc",
    "libnvJitLink",
    "libnccl",
    "libnvinfer",
    "libnvinfer_plugin",
    "libnvonnxparser",
    "libtensorrt_rtx",
    "libtensorrt_onnxparser_rtx",
)
"""Libraries of the driver, CUDA and TensorRT; any soname of theirs is reported."""
DEFAULT_FOLDERS = (
    "/lib64",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
)
_SONAME = re.compile(r"(lib[\w+-]+)\.so\.(\d+(?:\.\d+)?)", re.ASCII)
_FILE_VERSION = re.compile(r"\.so\.(\d+(?:\.\d+)*)$", re.ASCII)
_MAX_LINKS = 16


def search_path(source: Source) -> tuple[str, ...]:
    """Folders of LD_LIBRARY_PATH, in order; an empty item would be the working folder: left out."""
    value = variable(source, "LD_LIBRARY_PATH") or ""
    return tuple(folder for folder in value.split(":") if folder.startswith("/"))[:256]


def loaded_libraries(source: Source) -> tuple[Library, ...]:
    """One `Library` for each soname of `NAMES` that is found, sorted by soname."""
    copies: dict[str, list[tuple[str, str]]] = {}
    for folder in search_path(source):
        _add_folder(source, folder, "LD_LIBRARY_PATH", copies)
    for soname, paths in _cache(source).items():
        if _wanted(soname):
            copies.setdefault(soname, []).extend((path, "ld.so.cache") for path in paths)
    for folder in DEFAULT_FOLDERS:
        _add_folder(source, folder, "default path", copies)
    return tuple(_library(source, soname, copies[soname]) for soname in sorted(copies))


def wheel_libraries(source: Source) -> tuple[WheelLibrary, ...]:
    """CUDA libraries under `nvidia/PACKAGE/lib` of the folders that Python imports from."""
    found = []
    for folder in source.python_paths():
        base = posixpath.join(folder, "nvidia")
        for package in _names(source, base):
            for name in _names(source, f"{base}/{package}/lib"):
                if _wanted(name):
                    found.append(WheelLibrary(name, f"{base}/{package}/lib/{name}"))
    return tuple(sorted(found, key=lambda item: (item.soname, item.path)))


def _names(source: Source, folder: str) -> tuple[str, ...]:
    try:
        return source.list_directory(folder)
    except UnavailableError:
        return ()


def _wanted(soname: str) -> bool:
    match = _SONAME.fullmatch(soname)
    return match is not None and match[1] in NAMES


def _cache(source: Source) -> dict[str, list[str]]:
    try:
        return ld_cache.parse(source.read("/etc/ld.so.cache"))
    except UnavailableError:
        return {}


def _add_folder(
    source: Source, folder: str, found_by: str, copies: dict[str, list[tuple[str, str]]]
) -> None:
    for name in _names(source, folder):
        if _wanted(name):
            copies.setdefault(name, []).append((posixpath.join(folder, name), found_by))


def _library(source: Source, soname: str, copies: list[tuple[str, str]]) -> Library:
    path, found_by = copies[0]
    real = resolve(source, path)
    others = []
    for other, _ in copies[1:]:
        if resolve(source, other) != real and other not in others:
            others.append(other)
    match = _FILE_VERSION.search(real)
    version: Fact[str] = (
        known(match[1]) if match else unknown(f"the file name {real} has no version")
    )
    return Library(soname, path, version, found_by, tuple(others))


def resolve(source: Source, path: str) -> str:
    """Follow links of the file and of its folders; the path itself where a link cannot be read."""
    for _ in range(_MAX_LINKS):
        link = _first_link(source, path)
        if link is None:
            return path
        prefix, target = link
        joined = posixpath.join(posixpath.dirname(prefix), target)
        path = posixpath.normpath(joined + path[len(prefix) :])
    return path


def _first_link(source: Source, path: str) -> tuple[str, str] | None:
    parts = path.strip("/").split("/")
    for end in range(1, len(parts) + 1):
        prefix = "/" + "/".join(parts[:end])
        try:
            status = source.status(prefix)
        except UnavailableError:
            return None
        if status.kind == "link":
            return prefix, status.target
    return None


def user_space_driver(libraries: tuple[Library, ...]) -> Fact[str]:
    """Version of the user-space driver: that of the libcuda which a process would load."""
    for library in libraries:
        if library.soname == "libcuda.so.1":
            if library.version.value and "." in library.version.value:
                return library.version
            return unknown(f"the name of {library.path} does not end in a driver version")
    return unknown("no libcuda.so.1 in the loader's search path")


_VERSION_TEXT = re.compile(r"CUDA Version (\d+\.\d+(?:\.\d+)?)", re.ASCII)
_VERSION_JSON = re.compile(
    r'"cuda"\s*:\s*\{[^{}]{0,200}?"version"\s*:\s*"(\d+\.\d+(?:\.\d+)?)"', re.ASCII
)


def toolkits(source: Source) -> tuple[Toolkit, ...]:
    """CUDA toolkits under `/usr/local` and CUDA_HOME; links to another one are left out."""
    names = _names(source, "/usr/local")
    folders = [f"/usr/local/{name}" for name in names if re.fullmatch(r"cuda(-[\d.]+)?", name)]
    home = variable(source, "CUDA_HOME")
    if home and home.startswith("/"):
        folders.append(posixpath.normpath(home))
    real = sorted({resolve(source, folder) for folder in folders})
    found = [Toolkit(folder, _toolkit_version(source, folder)) for folder in real]
    return tuple(found)


def _toolkit_version(source: Source, folder: str) -> Fact[str]:
    for name, pattern in (("version.json", _VERSION_JSON), ("version.txt", _VERSION_TEXT)):
        try:
            match = pattern.search(read_text(source, f"{folder}/{name}"))
        except UnavailableError:
            continue
        if match:
            return known(match[1])
    return _runtime_version(source, folder)


_RUNTIME = re.compile(r"libcudart\.so\.(\d+\.\d+\.\d+)", re.ASCII)


def _runtime_version(source: Source, folder: str) -> Fact[str]:
    """The version of the toolkit's runtime library: its release, with its own third field."""
    for name in ("lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib"):
        names = _names(source, f"{folder}/{name}")
        for match in filter(None, map(_RUNTIME.fullmatch, names)):
            return known(match[1])
    return unknown("no version.json, version.txt or versioned libcudart that says it")
