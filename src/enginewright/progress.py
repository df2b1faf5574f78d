"""Progress of a long step: one line a report on standard error, and the last one in a file.

The folder `.progress` exists only where whoever runs the step made it; a build tool that does not
stream the output of its processes can show the file to the user. Steps that run at the same time
have files of their own.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from pathlib import Path

FOLDER = Path(".progress")


@functools.cache
def _file() -> Path:
    request = Path("request.json")
    name = hashlib.sha256(request.read_bytes()).hexdigest()[:16] if request.is_file() else "step"
    return FOLDER / name


def report(step: str, message: str) -> None:
    """Say where `step` (a short word) is; cheap enough to call several times a second."""
    print(f"{step}: {message}", file=sys.stderr, flush=True)
    if FOLDER.is_dir():
        _file().write_text(f"{message}\n", encoding="utf-8")
