"""Imports that later versions of Pants move."""

from pants.core.util_rules.environments import (
    ChosenLocalEnvironmentName as ChosenLocalEnvironmentName,
)
from pants.core.util_rules.environments import (
    EnvironmentField as EnvironmentField,
)
from pants.core.util_rules.environments import (
    EnvironmentNameRequest as EnvironmentNameRequest,
)
from pants.core.util_rules.environments import (
    EnvironmentTarget as EnvironmentTarget,
)
from pants.core.util_rules.environments import (
    LocalEnvironmentTarget as LocalEnvironmentTarget,
)
from pants.engine.environment import EnvironmentName as EnvironmentName


def is_local(environment: EnvironmentTarget) -> bool:
    """Whether processes of the environment run on this host, outside of any container."""
    return environment.val is None or isinstance(environment.val, LocalEnvironmentTarget)
