"""Compare two plans byte for byte."""

from __future__ import annotations

from pathlib import Path

from enginewright.errors import Problem
from enginewright.hashing import FileDigest

_CHUNK = 1 << 20


def first_difference(first: Path, second: Path) -> int | None:
    """Offset of the first byte that differs (the shorter size, if one is the other's beginning)."""
    offset = 0
    with first.open("rb") as left, second.open("rb") as right:
        while True:
            a, b = left.read(_CHUNK), right.read(_CHUNK)
            if a != b:
                pairs = enumerate(zip(a, b, strict=False))
                common = min(len(a), len(b))
                return offset + next((i for i, (x, y) in pairs if x != y), common)
            if not a:
                return None
            offset += len(a)


def compare(first: Path, second: Path) -> list[Problem]:
    """A problem when the two files differ, with both digests and the first offset."""
    offset = first_difference(first, second)
    if offset is None:
        return []
    one, two = FileDigest.of(first), FileDigest.of(second)
    return [
        Problem(
            "two builds of the same inputs differ",
            f"first difference at byte {offset}",
            f"sha256 {one.sha256}, {one.size} bytes",
            f"sha256 {two.sha256}, {two.size} bytes",
            "look for an input of the build that is not declared: environment, version, device",
        )
    ]
