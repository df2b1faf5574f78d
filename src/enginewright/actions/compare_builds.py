"""Step: fail unless two builds gave the same bytes.

Inputs: `first`, `second` (all files that each built, by role in a folder of their own).
"""

from __future__ import annotations

from pathlib import Path

from enginewright.document import encode
from enginewright.engines.comparison import compare
from enginewright.errors import raise_if_any
from enginewright.hashing import FileDigest
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001
    first, second = request.paths("first"), request.paths("second")
    raise_if_any(compare(first, second))
    return {"compared": {name: encode(FileDigest.of(path)) for name, path in first.items()}}


if __name__ == "__main__":
    main(run)
