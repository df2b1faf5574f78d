"""Step: resolve a toolchain request into a toolchain file.

Inputs: `request` (TOML), `lock` (requirements with hashes), `wheels` (what the lock pins). Outputs:
`toolchain.toml`. A combination that the compatibility tables exclude is refused with its row.
"""

from __future__ import annotations

from pathlib import Path

from enginewright.errors import raise_if_any
from enginewright.step import ActionRequest, Result, main
from enginewright.toolchains.lock_file import read_lock_file, selected
from enginewright.toolchains.marker import LINUX_X86_64
from enginewright.toolchains.request import read_request
from enginewright.toolchains.resolve import LockFacts, resolve
from enginewright.toolchains.wheel import (
    libraries_in,
    uncovered_requirements,
    unlocked_wheel,
    wheel_metadata,
)


def run(request: ActionRequest, outputs: Path) -> Result:
    packages = read_lock_file(request.file("lock").path)
    locked = selected(packages, LINUX_X86_64)
    libraries: dict[str, str] = {}
    problems = []
    for wheel in request.files("wheels"):
        problems += unlocked_wheel(wheel.path, packages)
        problems += uncovered_requirements(wheel_metadata(wheel.path), locked, LINUX_X86_64)
        libraries.update(libraries_in(wheel.path))
    raise_if_any(problems)
    wanted = read_request(request.file("request").path)
    toolchain = resolve(wanted, LockFacts(packages, libraries))
    (outputs / "toolchain.toml").write_text(toolchain.text(), encoding="utf-8")
    return {"product": toolchain.product, "version": toolchain.version}


if __name__ == "__main__":
    main(run)
