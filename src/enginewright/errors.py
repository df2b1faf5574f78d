"""Errors that the user can fix.

A step collects every problem of an input before it raises, so that one run shows all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SHOWN = 10
"""Problems of one kind that are shown: a truncated file has one for each of its tensors."""


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
    """The user can fix this; it is shown without a traceback.

    `problems` are all of them; the text has the first `SHOWN` of each kind, and the number of the
    others.
    """

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(_lines(self.problems)))


def _lines(problems: Sequence[Problem]) -> Iterator[str]:
    total = Counter(problem.what for problem in problems)
    seen: Counter[str] = Counter()
    for problem in problems:
        kind = problem.what
        seen[kind] += 1
        if seen[kind] <= SHOWN:
            yield str(problem)
        elif seen[kind] == total[kind]:
            yield f"{kind}: {total[kind] - SHOWN} more, the last in {problem.where or 'the same'}"


def raise_if_any(problems: Sequence[Problem]) -> None:
    """Raise one `InputError` with all `problems`, or do nothing when there are none."""
    if problems:
        raise InputError(problems)
