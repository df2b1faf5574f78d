"""What the rules know of a build: its targets, its inputs, its steps, and what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from enginewright.hashing import FileDigest
from enginewright.provenance.wheel import Wheel
from enginewright.schema import INLINE, NOT_EMPTY, Name, Sha256


@dataclass(frozen=True)
class Target:
    """A target of a BUILD file."""

    type: Name
    fields: Mapping[str, Any]
    """Those that have a value."""


@dataclass(frozen=True)
class Input:
    """A file that no step of the build made."""

    role: Name
    """Such as `weights`; as the step calls it that read the file."""
    address: str
    """The target that the step ran for."""
    path: Name
    """In the folder of that role."""
    digest: FileDigest = field(metadata=INLINE)


@dataclass(frozen=True)
class Step:
    action: Name
    address: Name
    key: Sha256
    """Over all that can change its result."""
    library: str
    """Digest of the tree of modules that it ran with."""
    environment: str | None
    """Its tool environment; None is Python alone."""
    python: Name
    """Version of CPython."""


@dataclass(frozen=True)
class Environment:
    """The wheels of a tool environment."""

    address: Name
    wheels: tuple[Wheel, ...]


@dataclass(frozen=True)
class Build:
    target: Name
    """Address of the packaged target."""
    kind: Name
    """Component type of CycloneDX: `machine-learning-model` or `library`."""
    targets: Annotated[Mapping[str, Target], NOT_EMPTY]
    """By address: the packaged one and all whose steps ran for it."""
    files: Annotated[Mapping[str, FileDigest], NOT_EMPTY]
    """The package by path, without what is written of it here."""
    inputs: tuple[Input, ...]
    steps: Annotated[tuple[Step, ...], NOT_EMPTY]
    environments: tuple[Environment, ...]
    host_compiler: str | None = None
    """Version of gcc, where a step compiled with it."""

    @property
    def wheels(self) -> tuple[tuple[str, Wheel], ...]:
        """Each wheel once, with the first environment that has it."""
        found: dict[str, tuple[str, Wheel]] = {}
        for environment in sorted(self.environments, key=lambda item: item.address):
            for wheel in environment.wheels:
                found.setdefault(wheel.digest.sha256, (environment.address, wheel))
        return tuple(sorted(found.values(), key=lambda item: item[1].file))
