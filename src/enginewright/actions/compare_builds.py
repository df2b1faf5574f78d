"""Step: fail unless two builds gave the same bytes. Inputs: `first`, `second` (plans)."""

from __future__ import annotations

from pathlib import Path

from enginewright.engines.plan_comparison import compare
from enginewright.errors import raise_if_any
from enginewright.hashing import FileDigest
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001
    first, second = request.file("first"), request.file("second")
    raise_if_any(compare(first.path, second.path))
    digest = FileDigest.of(first.path)
    return {"sha256": digest.sha256, "size": digest.size, "equal": True}


if __name__ == "__main__":
    main(run)
