"""Imports that later versions of Pants move."""

from pants.core.util_rules.environments import (
    EnvironmentField as EnvironmentField,
)
from pants.core.util_rules.environments import (
    EnvironmentNameRequest as EnvironmentNameRequest,
)
