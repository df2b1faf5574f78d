"""What all targets have in common."""

from __future__ import annotations

from typing import Iterator

from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    Dependencies,
    Target,
)

from pants_enginewright.compat import EnvironmentField


class EnginewrightDependenciesField(Dependencies):
    """Explicit dependencies; what the other fields name is added by inference."""


COMMON_FIELDS = (*COMMON_TARGET_FIELDS, EnginewrightDependenciesField, EnvironmentField)


class CheckedTarget(Target):
    """A target whose fields have to go together."""

    def problems(self) -> Iterator[str]:
        """What is wrong between its fields; each field tells of its own problems itself."""
        yield from ()
