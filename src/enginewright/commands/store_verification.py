"""The large files in Pants' local store: plain files, named by the sha256 of their content.

Pants 2.17 keeps files of 512 KiB and more under `immutable/files/`, and links them into the
sandboxes of processes. It trusts their names from then on, so a file that has changed would be an
input of every later build. Smaller files lie in a database that processes cannot reach.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest

FOLDER = Path("immutable") / "files"
_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class DamagedFile:
    path: Path
    expected: str
    """sha256 that the name promises."""
    actual: str
    size: int


@dataclass(frozen=True)
class StoreReport:
    files: int
    bytes: int
    damaged: tuple[DamagedFile, ...]

    def __str__(self) -> str:
        lines = [f"{self.files} files, {self.bytes} bytes, {len(self.damaged)} damaged"]
        for file in self.damaged:
            lines += [f"damaged: {file.path}, {file.size} bytes", f"  has sha256 {file.actual}"]
        if self.damaged:
            lines.append(
                "Stop Pants, and delete the damaged files: what needs them is built again."
            )
        return "\n".join(lines)


def default_store() -> Path:
    """Where Pants keeps its store unless `[GLOBAL].local_store_dir` says otherwise."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~", ".cache")).expanduser()
    return cache / "pants" / "lmdb_store"


def stored_files(store: Path) -> Iterator[Path]:
    """All large files of a store, in the order of their digests."""
    folder = store / FOLDER
    if not folder.is_dir():
        raise InputError(
            Problem(
                "is not a store of Pants",
                str(store),
                f"a folder with {FOLDER}",
                fix="name it: `[GLOBAL].local_store_dir`, by default ~/.cache/pants/lmdb_store",
            )
        )
    paths = (Path(root) / name for root, _, names in os.walk(folder) for name in names)
    yield from sorted(path for path in paths if _NAME.fullmatch(path.name))


def verify_store(store: Path) -> StoreReport:
    """Hash every large file of the store anew. Reads only; raises `InputError`."""
    files = size = 0
    damaged = []
    for path in stored_files(store):
        try:
            actual = FileDigest.of(path)
        except FileNotFoundError:
            continue  # Pants' garbage collection came first.
        files, size = files + 1, size + actual.size
        if actual.sha256 != path.name:
            damaged.append(DamagedFile(path, path.name, actual.sha256, actual.size))
    return StoreReport(files, size, tuple(damaged))
