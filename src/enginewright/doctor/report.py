"""The diagnosis for people: what was seen, why it matters, what to type."""

from __future__ import annotations

from enginewright.doctor.finding import Diagnosis, Finding, Severity

_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_IN_ORDER = "Nothing to change: hardware, driver, CUDA and container are in order."
_NOT_ALL_SEEN = "Nothing wrong was seen, but not everything could be looked at."


def text(diagnosis: Diagnosis) -> str:
    """Findings, skipped checks with their reasons, and how many checks there were."""
    blocks = [_finding(finding) for finding in diagnosis.findings]
    blocks += [f"skipped[{skipped.check}]: {skipped.reason}" for skipped in diagnosis.skipped]
    if diagnosis.broken is not None and not diagnosis.summary and diagnosis.not_examined:
        names = ", ".join(link.name.lower() for link in diagnosis.not_examined)
        blocks.append(
            f"Not examined, because {diagnosis.broken.name.lower()} comes first: {names}."
        )
    first, last = _summary(diagnosis), _count(diagnosis)
    if not blocks:
        return f"{first} {last}".strip()
    return "\n\n".join(block for block in (first, *blocks, last) if block)


def _summary(diagnosis: Diagnosis) -> str:
    if diagnosis.summary or not diagnosis.healthy:
        return diagnosis.summary
    return _NOT_ALL_SEEN if diagnosis.skipped else _IN_ORDER


def _count(diagnosis: Diagnosis) -> str:
    if not diagnosis.checks:
        return ""
    word = "check" if diagnosis.checks == 1 else "checks"
    return f"{diagnosis.checks} {word}, {len(diagnosis.skipped)} skipped."


def _finding(finding: Finding) -> str:
    return "\n".join(
        [
            f"{_WORDS[finding.severity]}[{finding.code}]: {finding.seen}",
            f"  why: {finding.why}",
            f"  fix: {finding.fix}",
        ]
    )
