"""The recipe of a toolchain file: request, lock file and wheels in, pins out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from enginewright.engines.registry import find_product
from enginewright.errors import Problem, raise_if_any
from enginewright.toolchains.lock_file import read_lock_file, selected
from enginewright.toolchains.markers import linux_x86_64
from enginewright.toolchains.request import LockRequest
from enginewright.toolchains.resolve import LockFacts, ResolvedToolchain, resolve
from enginewright.toolchains.wheel import (
    libraries_in,
    uncovered_requirements,
    unlocked_wheel,
)
from enginewright.toolchains.wheel_metadata import wheel_metadata


def lock_toolchain(
    request: LockRequest, lock: Path, libraries: Iterable[Path], python: str
) -> ResolvedToolchain:
    """Resolve a request with what an environment is locked to.

    `libraries` are the environment's wheels, or folders and files where they are installed;
    `python` is its `major.minor`. Raises `InputError` with everything that does not fit.
    """
    environment = linux_x86_64(python)
    locked = selected(read_lock_file(lock), environment)
    prefixes = find_product(request.product).library_prefixes
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for path in libraries:
        if path.suffix == ".whl":
            problems += unlocked_wheel(path, locked)
            problems += uncovered_requirements(wheel_metadata(path), locked, environment)
        found.update(libraries_in(path, prefixes))
    raise_if_any(problems)
    return resolve(request, LockFacts(locked, found))
