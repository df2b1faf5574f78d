"""Read a lock file in requirements form: `name==version ; marker` with `--hash` lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.toolchains.markers import holds

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})(?=\s|$)", re.ASCII)
MAX_LOCK = 64 << 20
MAX_LINE = 64 << 10
"""Characters: a requirement with some hundred hashes has a third of it."""


@dataclass(frozen=True)
class LockedPackage:
    name: str
    """Normalized (PEP 503): lower case, hyphens."""
    version: str
    """As the lock writes it."""
    hashes: tuple[str, ...] = ()
    """sha256 of each wheel that may be installed, sorted."""
    marker: Marker | None = None
    extras: frozenset[str] = frozenset()


def read_lock_file(path: Path) -> tuple[LockedPackage, ...]:
    """Packages of the lock, in file order; raises `InputError` with all problems."""
    with path.open("rb") as stream:
        data = stream.read(MAX_LOCK + 1)
    if len(data) > MAX_LOCK:
        raise InputError(Problem("lock file is too large", str(path), f"{MAX_LOCK} bytes"))
    return parse_lock_file(data.decode("utf-8", "replace"), str(path))


def parse_lock_file(text: str, where: str) -> tuple[LockedPackage, ...]:
    """Packages in the text of a lock file; `where` names it in messages."""
    packages, problems = [], []
    for number, line in _logical_lines(text):
        written = line.split("--hash", 1)[0].strip()
        requirement = _pinned(written) if len(line) <= MAX_LINE else None
        if requirement is None:
            problems.append(
                Problem(
                    "not a locked requirement",
                    f"{where}, line {number}",
                    "name==version, with --hash=sha256:...",
                    written[:100],
                    "write the lock with uv pip compile --generate-hashes",
                )
            )
            continue
        hashes = tuple(sorted(set(_HASH.findall(line))))
        if not hashes:
            what = f"`{requirement.name}` has no hash"
            problems.append(Problem(what, f"{where}, line {number}", "--hash=sha256:..."))
        (pin,) = requirement.specifier
        packages.append(
            LockedPackage(
                canonicalize_name(requirement.name),
                pin.version,
                hashes,
                requirement.marker,
                frozenset(requirement.extras),
            )
        )
    raise_if_any(problems[:100])
    return tuple(packages)


def _pinned(text: str) -> Requirement | None:
    """The requirement, where it says one version."""
    try:
        requirement = Requirement(text)
    except (InvalidRequirement, RecursionError):
        return None
    pins = [*requirement.specifier]
    is_pin = len(pins) == 1 and pins[0].operator == "==" and not pins[0].version.endswith(".*")
    return requirement if is_pin else None


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines joined where one ends in a backslash; comments and option lines are left out."""
    lines: list[tuple[int, str]] = []
    current: list[str] = []
    start = 1
    for number, line in enumerate(text.splitlines(), 1):
        if not current:
            start = number
        stripped = line.strip()
        if stripped.startswith("#"):
            continue
        current.append(stripped.removesuffix("\\").split(" #", 1)[0])
        if not stripped.endswith("\\"):
            joined = " ".join(current).strip()
            if joined and not joined.startswith("-"):
                lines.append((start, joined))
            current = []
    return lines


def selected(
    packages: tuple[LockedPackage, ...], environment: Mapping[str, str]
) -> dict[str, LockedPackage]:
    """The packages that are installed in an environment, by name.

    Raises `InputError` when one name has several versions there: such a lock has no single answer.
    """
    found: dict[str, LockedPackage] = {}
    problems = []
    for package in packages:
        if not holds(package.marker, environment):
            continue
        other = found.setdefault(package.name, package)
        if Version(other.version) != Version(package.version):
            problems.append(
                Problem(
                    f"the lock has two versions of `{package.name}` for one platform",
                    package.name,
                    "one version for each (platform, CUDA)",
                    f"{other.version} and {package.version}",
                    "make one lock file for each variant, and choose with parametrize",
                )
            )
    raise_if_any(problems)
    return found
