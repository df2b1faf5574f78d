"""A check: it finds something, finds nothing, or says why it could not look.

A fact that is unknown must not end as "nothing found": who needs it says `need`, and the check is
reported as skipped, with the fact's own reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from enginewright.doctor.finding import Finding, Link, Skipped
from enginewright.host.fact import Fact

T = TypeVar("T")


class CannotCheckError(Exception):
    """What the check needs is not known; the text is the reason, for people."""


@dataclass(frozen=True)
class Check:
    name: str
    """What is compared with what, for the report."""
    link: Link
    run: Callable[[], Iterable[Finding]]
    """Raises `CannotCheckError` where it cannot look."""


@dataclass(frozen=True)
class Checked:
    """What came of some checks."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    links: tuple[Link, ...] = ()
    """One for each check, skipped or not."""

    def __add__(self, other: Checked) -> Checked:
        return Checked(
            self.findings + other.findings,
            self.skipped + other.skipped,
            self.links + other.links,
        )


def need(fact: Fact[T], what: str) -> T:
    """The value of a fact; raise `CannotCheckError` with the reason where it is unknown."""
    if fact.value is None:
        raise CannotCheckError(f"{what} is unknown: {fact.unknown}")
    return fact.value


def run_checks(checks: Iterable[Check]) -> Checked:
    """Run all checks; those that cannot look become `skipped`."""
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    links: list[Link] = []
    for check in checks:
        links.append(check.link)
        try:
            findings += check.run()
        except CannotCheckError as error:
            skipped.append(Skipped(check.name, check.link, str(error)))
    return Checked(tuple(findings), tuple(skipped), tuple(links))
