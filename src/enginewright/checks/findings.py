"""What a check found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from enginewright.errors import Problem


@dataclass(frozen=True)
class Findings:
    problems: tuple[Problem, ...] = ()
    """Each fails the build."""
    warnings: tuple[str, ...] = ()

    @classmethod
    def join(cls, findings: Iterable[Findings]) -> Findings:
        every = list(findings)
        return cls(
            tuple(problem for one in every for problem in one.problems),
            tuple(warning for one in every for warning in one.warnings),
        )
