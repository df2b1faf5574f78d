"""Pieces of held-out text: windows of tokens, and lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginewright.errors import InputError, Problem


def read(path: Path) -> str:
    """Raise `InputError` unless the file is UTF-8 text with something in it."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(Problem("not UTF-8 text", str(path), actual=str(error))) from error
    if not text.strip():
        raise InputError(Problem("held-out text is empty", str(path)))
    return text


def windows(tokens: Sequence[int], length: int, count: int) -> tuple[tuple[int, ...], ...]:
    """`count` windows of `length` tokens, spread evenly from the first to the last token.

    They overlap only where the text is too short for windows apart. Raises `InputError` when it is
    shorter than one window.
    """
    if len(tokens) < length:
        raise InputError(
            Problem(
                "held-out text is shorter than a window",
                "dataset",
                f"at least {length} tokens",
                f"{len(tokens)} tokens",
                "give a longer text or smaller sequence lengths",
            )
        )
    last = len(tokens) - length
    starts = [last * i // (count - 1) if count > 1 else 0 for i in range(count)]
    return tuple(tuple(tokens[start : start + length]) for start in starts)


def sentences(text: str, count: int) -> tuple[str, ...]:
    """The first `count` lines that are not blank; raises `InputError` when there are fewer."""
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    if len(lines) < count:
        raise InputError(
            Problem(
                "held-out text has too few lines",
                "dataset",
                f"{count} sentences, one a line",
                f"{len(lines)}",
                "give more lines or ask for fewer sentences",
            )
        )
    return lines[:count]
