"""Where facts come from: a protocol, so that the probe reads a live host, a bundle or a fake."""

from __future__ import annotations

import os
import stat as stat_module
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

READ_LIMIT = 1 << 20
"""Most bytes of one file that the probe reads."""
LIST_LIMIT = 65536
"""Most names of one folder."""


class UnavailableError(Exception):
    """The source cannot give this; the text is the reason, for people."""


@dataclass(frozen=True)
class FileStatus:
    """What `stat` says, links not followed."""

    mode: int
    """Permission bits, such as 0o666."""
    kind: str
    """`file`, `directory`, `link`, `character device` or `other`."""
    size: int
    """Bytes."""
    modified: int
    """Seconds since 1970."""
    target: str = ""
    """Where a link points, as written in it."""


class Source(Protocol):
    """Everything the probe may ask. Every method raises `UnavailableError` with the reason."""

    def read(self, path: str) -> bytes:
        """The file's first `READ_LIMIT` bytes."""
        ...

    def list_directory(self, path: str) -> tuple[str, ...]:
        """Names in the folder, sorted."""
        ...

    def status(self, path: str) -> FileStatus: ...

    def filesystem_size(self, path: str) -> int:
        """Bytes of the file system that holds the path."""
        ...

    def environment(self, name: str) -> str | None:
        """An environment variable, None when it is not set."""
        ...

    def python_paths(self) -> tuple[str, ...]:
        """Folders from which Python imports packages."""
        ...

    def nvml(self) -> Mapping[str, Any]:
        """What NVML says, as `enginewright.host.nvml.snapshot` returns it."""
        ...

    def now(self) -> int:
        """Seconds since 1970 when the source was read."""
        ...


def read_text(source: Source, path: str) -> str:
    """The file as text; bytes that are not UTF-8 are replaced."""
    return source.read(path).decode("utf-8", "replace")


def variable(source: Source, name: str) -> str | None:
    """An environment variable; None also where the source cannot say."""
    try:
        return source.environment(name)
    except UnavailableError:
        return None


class LiveSource:
    """This machine. `root` is for tests; `nvml` and `now` are handed in, so nothing is ambient."""

    def __init__(self, nvml: Mapping[str, Any], now: int, root: str = "/") -> None:
        self._nvml = nvml
        self._now = now
        self._root = Path(root)

    def _path(self, path: str) -> Path:
        return self._root / path.lstrip("/")

    def read(self, path: str) -> bytes:
        try:
            # A pipe or a terminal would block the reader for ever.
            if stat_module.S_IFMT(self._path(path).stat().st_mode) != stat_module.S_IFREG:
                raise UnavailableError("not a regular file")
            with self._path(path).open("rb") as stream:
                return stream.read(READ_LIMIT)
        except OSError as error:
            raise UnavailableError(_reason(error)) from error

    def list_directory(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(os.listdir(self._path(path)))[:LIST_LIMIT])  # noqa: PTH208
        except OSError as error:
            raise UnavailableError(_reason(error)) from error

    def status(self, path: str) -> FileStatus:
        try:
            result = self._path(path).lstat()
            kind = _KINDS.get(stat_module.S_IFMT(result.st_mode), "other")
            target = str(self._path(path).readlink()) if kind == "link" else ""
        except OSError as error:
            raise UnavailableError(_reason(error)) from error
        mode = stat_module.S_IMODE(result.st_mode)
        return FileStatus(mode, kind, result.st_size, int(result.st_mtime), target)

    def filesystem_size(self, path: str) -> int:
        try:
            result = os.statvfs(self._path(path))
        except OSError as error:
            raise UnavailableError(_reason(error)) from error
        return result.f_blocks * result.f_frsize

    def environment(self, name: str) -> str | None:
        return os.environ.get(name)

    def python_paths(self) -> tuple[str, ...]:
        return tuple(path for path in sys.path if path)

    def nvml(self) -> Mapping[str, Any]:
        return self._nvml

    def now(self) -> int:
        return self._now


_KINDS = {
    stat_module.S_IFREG: "file",
    stat_module.S_IFDIR: "directory",
    stat_module.S_IFLNK: "link",
    stat_module.S_IFCHR: "character device",
}


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
