"""Which weights become integers, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enginewright.errors import Problem, raise_if_any

GROUP_SIZES = (32, 64, 128)
KEEP_BY_DEFAULT = ("*embed_tokens*", "*lm_head*")


@dataclass(frozen=True)
class Scheme:
    bits: int
    """8: one scale for each output channel; 4: one for each group of a channel's inputs."""
    group_size: int | None
    """Inputs that share a scale; None with 8 bits, which builders take a whole channel at once."""
    keep: tuple[str, ...]
    """Patterns (`*`, `?`) of weights that stay as they are; the output head always matches."""

    @property
    def lowest(self) -> int:
        """The quantized range is symmetric for int8 and one longer below zero for int4."""
        return -8 if self.bits == 4 else -127

    @property
    def highest(self) -> int:
        return 7 if self.bits == 4 else 127

    @classmethod
    def decode(cls, parameters: Mapping[str, Any]) -> Scheme:
        """From a step's parameters; raise `InputError` with all problems."""
        problems = []
        method = parameters.get("method")
        group_size = parameters.get("group_size")
        keep = parameters.get("keep", KEEP_BY_DEFAULT)
        if method not in ("int8", "int4"):
            problems.append(_wrong("unknown method", "method", "int8, int4", method))
        if method == "int4" and group_size not in GROUP_SIZES:
            valid = ", ".join(map(str, GROUP_SIZES))
            problems.append(_wrong("wrong group size", "group_size", valid, group_size))
        if method == "int8" and group_size is not None:
            expected = "nothing: int8 has one scale for each output channel"
            problems.append(_wrong("int8 has no groups", "group_size", expected, group_size))
        if not _is_texts(keep):
            problems.append(_wrong("not a list of patterns", "keep", '["*lm_head*"]', keep))
        raise_if_any(problems)
        return cls(4 if method == "int4" else 8, group_size, tuple(keep))


def _is_texts(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(item, str) for item in value)
    )


def _wrong(what: str, name: str, expected: str, actual: object) -> Problem:
    return Problem(what, f"parameter `{name}`", expected, repr(actual))
