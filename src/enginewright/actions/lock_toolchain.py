"""Step: resolve a toolchain request into a toolchain file.

Inputs: `request` (TOML), `lock` (requirements with hashes), `wheels` (what the lock pins).
Parameters: `python`, for which the wheels are. Outputs: `toolchain.toml`. A combination that the
compatibility tables exclude is refused with its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from enginewright import document
from enginewright.step import ActionRequest, Result, main
from enginewright.toolchains.lock import lock_toolchain
from enginewright.toolchains.request import LockRequest


@dataclass(frozen=True)
class Parameters:
    python: str


def run(request: ActionRequest, outputs: Path) -> Result:
    wanted = document.read(LockRequest, request.file("request").path)
    wheels = [wheel.path for wheel in request.files("wheels")]
    python = request.decode(Parameters).python
    resolved = lock_toolchain(wanted, request.file("lock").path, wheels, python)
    (outputs / "toolchain.toml").write_text(resolved.text(), encoding="utf-8")
    return {"product": resolved.toolchain.product, "version": resolved.toolchain.version}


if __name__ == "__main__":
    main(run)
