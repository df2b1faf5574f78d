"""What an engine asks for against what its toolchain and its model allow."""

from __future__ import annotations

from typing import Any, Dict, Optional

from pants.engine.target import InvalidTargetException, Target
from pants.util.strutil import bullet_list

from pants_enginewright.build_files.compute_capabilities import ComputeCapabilitiesField
from pants_enginewright.engines.targets import ProfilesField
from pants_enginewright.environments.toolchain import Toolchain

LENGTH_AXES = ("sequence", "past_sequence", "total_sequence")


def raise_if_unsupported(target: Target, toolchain: Toolchain) -> None:
    """Raise unless the toolchain supports each compute capability of the engine."""
    supported = toolchain.compute_capabilities()
    wrong = [c for c in target[ComputeCapabilitiesField].value if c not in supported]
    if wrong:
        raise InvalidTargetException(
            f"`{target.alias}` target {target.address}: field `compute_capabilities` has "
            f"{', '.join(map(repr, wrong))}, which {toolchain.address} does not support; expected "
            f"some of {', '.join(map(repr, supported))}"
        )


def raise_if_too_long(target: Target, limit: Optional[Dict[str, Any]]) -> None:
    """Raise where a profile reaches beyond the positions that the model has.

    `limit` has `tokens` and `source`, the fields of config.json that say so.
    """
    if limit is None:
        return
    problems = [
        f"field `{ProfilesField.alias}`, profile {number}, axis {axis!r} reaches {sizes[-1]}"
        for number, profile in enumerate(target[ProfilesField].value)
        for axis, sizes in sorted(profile.items())
        if axis in LENGTH_AXES and sizes[-1] > limit["tokens"]
    ]
    if problems:
        raise InvalidTargetException(
            f"`{target.alias}` target {target.address}: the model was made for at most "
            f"{limit['tokens']} tokens, says config.json ({limit['source']}), and what comes after "
            f"them is undefined:\n{bullet_list(problems)}\n"
            f"Lower the profile, or extend the context on purpose in config.json."
        )
