"""What the doctor says: findings along the chain from hardware to application."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum


class Link(IntEnum):
    """The chain; what lies behind a broken link is not blamed."""

    HARDWARE = 0
    DRIVER = 1
    CUDA = 2
    CONTAINER = 3
    APPLICATION = 4


class Severity(IntEnum):
    NOTE = 0
    """Worth knowing; changes no exit code."""
    WARNING = 1
    """Works now, or may fail."""
    ERROR = 2
    """Does not work."""


@dataclass(frozen=True)
class Finding:
    code: str
    """Stable name for machines, such as `driver.library-mismatch`."""
    link: Link
    severity: Severity
    seen: str
    """What was observed, with the values."""
    why: str
    """Why it matters."""
    fix: str
    """A command for this distribution, or an instruction."""

    def to_json(self) -> dict[str, str]:
        return {
            "code": self.code,
            "link": self.link.name.lower(),
            "severity": self.severity.name.lower(),
            "seen": self.seen,
            "why": self.why,
            "fix": self.fix,
        }


@dataclass(frozen=True)
class Skipped:
    """A check that could not look."""

    check: str
    link: Link
    reason: str

    def to_json(self) -> dict[str, str]:
        return {"check": self.check, "link": self.link.name.lower(), "reason": self.reason}


@dataclass(frozen=True)
class Diagnosis:
    findings: tuple[Finding, ...]
    broken: Link | None
    """The first link with an error."""
    summary: str = ""
    """One line that stands first, where there is something to say about the host as a whole."""
    checks: int = 0
    """How many checks there were up to the broken link, skipped ones included."""
    skipped: tuple[Skipped, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether nothing needs a change; skipped checks say nothing about that."""
        return all(finding.severity == Severity.NOTE for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """0 where nothing needs a change, 1 where something does.

        Also 1 where an engine was asked about and a check of it could not look: nobody knows then
        that it runs.
        """
        unanswered = any(skipped.link == Link.APPLICATION for skipped in self.skipped)
        return 0 if self.healthy and not unanswered else 1

    def to_json(self) -> dict[str, object]:
        return {
            "healthy": self.healthy,
            "broken_link": self.broken.name.lower() if self.broken is not None else None,
            "not_examined": [link.name.lower() for link in self.not_examined],
            "summary": self.summary,
            "checks": self.checks,
            "skipped": [skipped.to_json() for skipped in self.skipped],
            "findings": [finding.to_json() for finding in self.findings],
        }

    def with_findings(self, more: Iterable[Finding], checks: int) -> Diagnosis:
        """The diagnosis with what `checks` further checks found."""
        found = diagnose([*self.findings, *more], self.summary)
        return replace(found, checks=self.checks + checks, skipped=self.skipped)

    @property
    def not_examined(self) -> tuple[Link, ...]:
        """Links behind the first broken one."""
        if self.broken is None:
            return ()
        return tuple(link for link in Link if link > self.broken)


def diagnose(findings: Iterable[Finding], summary: str = "") -> Diagnosis:
    """Keep the findings up to the first broken link."""
    found = list(findings)
    errors = [finding.link for finding in found if finding.severity == Severity.ERROR]
    broken = min(errors, default=None)
    kept = [finding for finding in found if broken is None or finding.link <= broken]
    kept.sort(key=lambda finding: (finding.link, -finding.severity, finding.code, finding.seen))
    return Diagnosis(tuple(kept), broken, summary)
