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


def spread(tokens: Sequence[int], length: int, count: int) -> tuple[tuple[int, ...], ...]:
    """`count` windows of `length` tokens, spread evenly from the first to the last token.

    They overlap only where the text is too short for windows apart; each is there once. Raises
    `InputError` when the text is shorter than one window.
    """
    if len(tokens) < length:
        raise InputError(
            Problem(
                "held-out text is shorter than a window",
                "dataset",
                f"at least {length} tokens",
                f"{len(tokens)} tokens",
                "give a longer text",
            )
        )
    last = len(tokens) - length
    starts = [last * i // (count - 1) if count > 1 else 0 for i in range(count)]
    return tuple(tuple(tokens[start : start + length]) for start in dict.fromkeys(starts))


def consecutive(tokens: Sequence[int], length: int) -> tuple[tuple[int, ...], ...]:
    """All tokens, in windows of `length` and one more: the first of the next.

    So each token but the first is predicted once. The last window may be shorter.
    """
    starts = range(0, len(tokens) - 1, length)
    return tuple(tuple(tokens[start : start + length + 1]) for start in starts)


def lines(text: str) -> tuple[str, ...]:
    """Those that are not blank."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())
