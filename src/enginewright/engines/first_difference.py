"""The first byte that differs."""

from __future__ import annotations

from pathlib import Path

_CHUNK = 1 << 20


def first_difference(
    first: Path, second: Path, begin: int = 0, end: int | None = None
) -> int | None:
    """Offset of the first byte that differs, of those from `begin` to before `end`; else None.

    Where one file is the other's beginning, it is the size of the shorter one.
    """
    offset = begin
    with first.open("rb") as left, second.open("rb") as right:
        left.seek(begin)
        right.seek(begin)
        while end is None or offset < end:
            size = _CHUNK if end is None else min(_CHUNK, end - offset)
            a, b = left.read(size), right.read(size)
            if a != b:
                pairs = enumerate(zip(a, b, strict=False))
                common = min(len(a), len(b))
                return offset + next((i for i, (x, y) in pairs if x != y), common)
            if not a:
                return None
            offset += len(a)
    return None
