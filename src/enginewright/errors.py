"""Errors that the user can fix.

A step collects every problem of an input before it raises, so that one run shows all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input."""

    what: str
    """The fault in one sentence, without a full stop."""
    where: str = ""
    """File, and the tensor, field or line inside it."""
    expected: str = ""
    actual: str = ""
    fix: str = ""
    """What to do next, as an instruction."""

    def __str__(self) -> str:
        details = [
            f"  {label + ':':<10}{text}"
            for label, text in (
                ("where", self.where),
                ("expected", self.expected),
                ("actual", self.actual),
                ("fix", self.fix),
            )
            if text
        ]
        return "\n".join([self.what, *details])


class InputError(Exception):
    """The user can fix this; it is shown without a traceback."""

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def raise_if_any(problems: Sequence[Problem]) -> None:
    """Raise one `InputError` with all `problems`, or do nothing when there are none."""
    if problems:
        raise InputError(problems)
