"""The files of an engine package against its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath

from enginewright.errors import Problem
from enginewright.hashing import FileDigest

_FIX = "package the engine again; do not edit its files"


class Fault(Enum):
    OUTSIDE = "engine.json names a file outside of the package"
    MISSING = "a file of the package is missing"
    CHANGED = "a file of the package is not the one in the manifest"


@dataclass(frozen=True)
class FileFault:
    fault: Fault
    name: str
    """As the manifest says it."""
    expected: FileDigest
    actual: FileDigest | None = None
    """Of a changed file."""

    def problem(self) -> Problem:
        actual = "" if self.actual is None else _text(self.actual)
        return Problem(self.fault.value, self.name[:200], _text(self.expected), actual, _FIX)


def check_files(folder: Path, files: Mapping[str, FileDigest]) -> list[FileFault]:
    """One fault for each file that is absent, has other bytes, or is not to be opened."""
    faults = []
    for name, expected in sorted(files.items()):
        path = inside(folder, name)
        if path is None:
            faults.append(FileFault(Fault.OUTSIDE, name, expected))
        elif not path.is_file():
            faults.append(FileFault(Fault.MISSING, name, expected))
        else:
            actual = FileDigest.of(path)
            if actual != expected:
                faults.append(FileFault(Fault.CHANGED, name, expected, actual))
    return faults


def inside(folder: Path, name: str) -> Path | None:
    """The file of that name under the folder, or None for a name or a link that leaves it."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        return None
    path = folder.joinpath(*parts)
    try:
        return path if path.resolve().is_relative_to(folder.resolve()) else None
    except (OSError, RuntimeError, ValueError):
        return None


def _text(digest: FileDigest) -> str:
    return f"sha256 {digest.sha256}, {digest.size} bytes"
