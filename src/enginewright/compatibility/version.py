"""Version numbers as integers: never compared as text, never read character by character."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Annotated

from enginewright.errors import InputError, Problem
from enginewright.schema import FromText

_DOTTED = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,7}", re.ASCII)
_CAPABILITY = re.compile(r"(?:sm_|compute_)?(\d{1,4})(?:\.(\d))?([af]?)", re.ASCII)


@total_ordering
@dataclass(frozen=True)
class Version:
    """A dotted version such as `580.65.06` or `1.7.1.116`; absent fields compare as zero."""

    text: str
    fields: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Version:
        """Raise `InputError` unless `text` is 1 to 8 numbers with dots between them."""
        if not _DOTTED.fullmatch(text):
            raise InputError(
                Problem("not a version", expected="numbers with dots, 12.8", actual=repr(text)[:80])
            )
        return cls(text, tuple(int(field) for field in text.split(".")))

    @property
    def major(self) -> int:
        return self.fields[0]

    def _padded(self) -> tuple[int, ...]:
        return self.fields + (0,) * (8 - len(self.fields))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._padded() == other._padded()

    def __lt__(self, other: Version) -> bool:
        return self._padded() < other._padded()

    def __hash__(self) -> int:
        return hash(self._padded())

    def __str__(self) -> str:
        return self.text


def try_version(text: str) -> Version | None:
    """`Version.parse`, or None where the text is no version."""
    return Version.parse(text) if _DOTTED.fullmatch(text) else None


@total_ordering
@dataclass(frozen=True)
class ComputeCapability:
    """A GPU's compute capability; `variant` is `a` (this chip only), `f` (its family) or empty."""

    major: int
    minor: int
    variant: str = ""

    @classmethod
    def parse(cls, text: str) -> ComputeCapability:
        """Read `8.9`, `10.0`, `90a`, `sm_120f` or `compute_75`.

        Without a dot the last digit is the minor number. Raises `InputError` for anything else.
        """
        match = _CAPABILITY.fullmatch(text.strip())
        if match:
            digits, minor, variant = match.groups()
            if minor is not None and len(digits) <= 3:
                return cls(int(digits), int(minor), variant)
            if minor is None and len(digits) >= 2:
                return cls(int(digits[:-1]), int(digits[-1]), variant)
        raise InputError(
            Problem(
                "not a compute capability",
                expected="major.minor such as 8.9 or 10.0, or sm_89, 90a, 120f",
                actual=repr(text)[:80],
            )
        )

    @property
    def base(self) -> ComputeCapability:
        """The capability without its variant."""
        return ComputeCapability(self.major, self.minor)

    @property
    def number(self) -> str:
        """As compilers write it after `sm_` and `compute_`: `90a`."""
        return f"{self.major}{self.minor}{self.variant}"

    @property
    def sm(self) -> str:
        """The compiler's name, `sm_90a`."""
        return f"sm_{self.number}"

    def __lt__(self, other: ComputeCapability) -> bool:
        return (self.major, self.minor, self.variant) < (other.major, other.minor, other.variant)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}{self.variant}"


CapabilityText = Annotated[ComputeCapability, FromText(ComputeCapability.parse)]
"""In a document: `"8.9"`."""
