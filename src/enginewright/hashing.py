"""Digests of files, and the check that a file is the one that was promised."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from enginewright.errors import InputError, Problem
from enginewright.schema import Sha256, Size


@dataclass(frozen=True)
class FileDigest:
    """Content of a file: sha256 as 64 lower-case hex digits, and size in bytes."""

    sha256: Sha256
    size: Size

    @classmethod
    def of(cls, path: Path) -> FileDigest:
        with path.open("rb") as stream:
            return cls(hashlib.file_digest(stream, "sha256").hexdigest(), path.stat().st_size)


def verify(path: Path, expected: FileDigest, *, fix: str = "") -> None:
    """Raises `InputError` unless the file at `path` has the `expected` digest."""
    actual = FileDigest.of(path)
    if actual != expected:
        raise InputError(
            Problem(
                "file differs from the one that was promised",
                str(path),
                f"sha256 {expected.sha256}, {expected.size} bytes",
                f"sha256 {actual.sha256}, {actual.size} bytes",
                fix,
            )
        )
