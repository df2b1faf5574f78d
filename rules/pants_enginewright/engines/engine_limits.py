"""What an engine asks for against what its toolchain and its model allow."""

from __future__ import annotations

from typing import Optional

from pants.engine.target import InvalidTargetException
from pants.util.strutil import bullet_list

from pants_enginewright.build_files.compute_capabilities import ComputeCapabilitiesField
from pants_enginewright.engines.profiles import ProfilesField
from pants_enginewright.environments.toolchain import Toolchain
from pants_enginewright.models.origin import LengthLimit

LENGTH_AXES = ("sequence", "past_sequence", "total_sequence")


def raise_if_unsupported(capabilities: ComputeCapabilitiesField, toolchain: Toolchain) -> None:
    """Raise unless the toolchain supports each compute capability of the engine."""
    supported = toolchain.compute_capabilities
    wrong = [c for c in capabilities.in_order() if c not in supported]
    if wrong:
        raise InvalidTargetException(
            f"{capabilities.address}: field `{capabilities.alias}` has "
            f"{', '.join(map(repr, wrong))}, which {toolchain.address} does not support; expected "
            f"some of {', '.join(map(repr, supported))}"
        )


def raise_if_too_long(profiles: ProfilesField, limit: Optional[LengthLimit]) -> None:
    """Raise where a profile reaches beyond the positions that the model has."""
    if limit is None:
        return
    problems = [
        f"field `{profiles.alias}`, profile {number}, axis {axis!r} reaches {sizes[-1]}"
        for number, profile in enumerate(profiles.value)
        for axis, sizes in sorted(profile.items())
        if axis in LENGTH_AXES and sizes[-1] > limit.tokens
    ]
    if problems:
        raise InvalidTargetException(
            f"{profiles.address}: the model was made for at most {limit.tokens} tokens, says "
            f"config.json ({limit.source}), and what comes after them is undefined:\n"
            f"{bullet_list(problems)}\n"
            f"Lower the profile, or extend the context on purpose in config.json."
        )
