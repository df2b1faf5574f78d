"""What all targets have in common."""

from __future__ import annotations

from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    Dependencies,
)

from pants_enginewright.compat import EnvironmentField


class EnginewrightDependenciesField(Dependencies):
    """Explicit dependencies; what the other fields name is added by inference."""


COMMON_FIELDS = (*COMMON_TARGET_FIELDS, EnginewrightDependenciesField, EnvironmentField)
