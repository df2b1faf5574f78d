"""Numbers that follow from those of an error text, for its explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, Decimal

from enginewright.compatibility.driver import minimum_driver


def difference(larger: str, smaller: str) -> str:
    """`47.38` and `31.44` are `15.94`."""
    return str(Decimal(larger) - Decimal(smaller))


def share(part: str, whole: str) -> str:
    """The part of the whole in hundredths, rounded down: what is asked for must be there."""
    if not Decimal(whole):
        return "0.00"
    return str((Decimal(part) / Decimal(whole)).quantize(Decimal("0.01"), ROUND_DOWN))


def oldest_driver(cuda: str) -> str:
    """The oldest driver of the tables for a CUDA release."""
    requirement = minimum_driver(cuda)
    if requirement is None:
        return f"that of CUDA {cuda}'s release notes (the table of drivers has no row for it)"
    return str(requirement.minimum)


def release(number: str) -> str:
    """`12040`, as CUDA counts, is `12.4`."""
    return f"{int(number) // 1000}.{int(number) % 1000 // 10}"


_FUNCTIONS: Mapping[str, Callable[..., str]] = {
    "difference": difference,
    "minimum_driver": oldest_driver,
    "release": release,
    "share": share,
}
"""By the name that `derived` of a text has."""


def derive(rules: Mapping[str, tuple[str, ...]], values: Mapping[str, str]) -> dict[str, str]:
    """`values` with what each rule (a function's name and its arguments' names) adds."""
    derived = {
        name: _FUNCTIONS[function](*(values[argument] for argument in arguments))
        for name, (function, *arguments) in rules.items()
    }
    return {**values, **derived}
