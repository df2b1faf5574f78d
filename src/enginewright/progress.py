"""Progress of a long step: one line a report on standard error, and the last one in a file.

The folder `.progress` exists only where whoever runs the step made it; a build tool that does not
stream the output of its processes can show the file to the user. Steps that run at the same time
have files of their own.

A report never fails: it is made from inside a builder that takes an exception for the wish to
stop.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
from pathlib import Path

FOLDER = Path(".progress")


@functools.cache
def descriptor() -> int:
    """The file of this process, open for writing; -1 where there is no folder for it."""
    request = Path("request.json")
    name = hashlib.sha256(request.read_bytes()).hexdigest()[:16] if request.is_file() else "step"
    with contextlib.suppress(OSError):
        if FOLDER.is_dir():
            return os.open(FOLDER / name, os.O_WRONLY | os.O_CREAT, 0o644)
    return -1


def report(step: str, message: str) -> None:
    """Say where `step` (a short word) is; cheap enough to call several times a second."""
    print(f"{step}: {message}", file=sys.stderr, flush=True)
    file = descriptor()
    if file >= 0:
        with contextlib.suppress(OSError):
            os.ftruncate(file, 0)
            os.pwrite(file, f"{message}\n".encode(), 0)
