"""Progress of a long step: one line a report on standard error, and the last one in a file.

The file `.progress/STEP` exists only where whoever runs the step made the folder `.progress`; a
build tool that does not stream the output of its processes can show it to the user.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(".progress")


def report(step: str, message: str) -> None:
    """Say where `step` (a short word) is; cheap enough to call several times a second."""
    print(f"{step}: {message}", file=sys.stderr, flush=True)
    if FOLDER.is_dir():
        (FOLDER / step).write_text(message + "\n", encoding="utf-8")
