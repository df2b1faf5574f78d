"""What the server says to whoever started it."""

from __future__ import annotations

import contextlib
import sys


def say(text: str) -> None:
    """To standard error; a server outlives its terminal, and a log on a full disk."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
