"""Read a lock file in requirements form: `name==version ; marker` with `--hash` lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.toolchains.marker import holds

_REQUIREMENT = re.compile(
    r"([A-Za-z0-9][\w.-]*)(?:\[[\w,. -]*\])?\s*==\s*([\w.+!-]+)\s*(?:;\s*(.+))?", re.ASCII
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})(?=\s|$)", re.ASCII)
MAX_LOCK = 64 << 20


@dataclass(frozen=True)
class LockedPackage:
    name: str
    """Normalized: lower case, hyphens."""
    version: str
    marker: str
    hashes: tuple[str, ...]
    """sha256 of each wheel that may be installed, sorted."""


def normalized(name: str) -> str:
    """The form in which package names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock_file(path: Path) -> tuple[LockedPackage, ...]:
    """Packages of the lock, in file order; raise `InputError` with all problems."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_LOCK + 1)
    except OSError as error:
        raise InputError(
            Problem("cannot read the lock file", str(path), actual=error.strerror or "")
        ) from error
    if len(data) > MAX_LOCK:
        raise InputError(Problem("lock file is too large", str(path), f"{MAX_LOCK} bytes"))
    return parse_lock_file(data.decode("utf-8", "replace"), str(path))


def parse_lock_file(text: str, where: str) -> tuple[LockedPackage, ...]:
    """Packages in the text of a lock file; `where` names it in messages."""
    packages, problems = [], []
    for number, line in _logical_lines(text):
        requirement = line.split("--hash", 1)[0].strip()
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None:
            problems.append(
                Problem(
                    "not a locked requirement",
                    f"{where}, line {number}",
                    "name==version, with --hash=sha256:...",
                    requirement[:100],
                    "write the lock with uv pip compile --generate-hashes",
                )
            )
            continue
        hashes = tuple(sorted(set(_HASH.findall(line))))
        if not hashes:
            problems.append(
                Problem(f"`{match[1]}` has no hash", f"{where}, line {number}", "--hash=sha256:...")
            )
        packages.append(
            LockedPackage(normalized(match[1]), match[2], (match[3] or "").strip(), hashes)
        )
    raise_if_any(problems[:100])
    return tuple(packages)


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
        if other.version != package.version:
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
