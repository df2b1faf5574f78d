"""Which weights become integers, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from enginewright.errors import InputError, Problem
from enginewright.schema import one_of

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


@dataclass(frozen=True)
class SchemeRequest:
    """The parameters of the step."""

    method: Literal["int8", "int4"]
    group_size: Annotated[int, one_of(GROUP_SIZES)] | None = None
    keep: tuple[str, ...] = KEEP_BY_DEFAULT

    def __post_init__(self) -> None:
        valid = ", ".join(map(str, GROUP_SIZES))
        if self.method == "int4" and self.group_size is None:
            raise InputError(Problem("int4 needs a group size", "group_size", valid, "none"))
        if self.method == "int8" and self.group_size is not None:
            expected = "none: int8 has one scale for each output channel"
            actual = str(self.group_size)
            raise InputError(Problem("int8 has no groups", "group_size", expected, actual))

    def scheme(self) -> Scheme:
        return Scheme(4 if self.method == "int4" else 8, self.group_size, self.keep)
