"""The diagnosis for people: what was seen, why it matters, what to type."""

from __future__ import annotations

from enginewright.doctor.finding import Diagnosis, Finding, Severity

_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def text(diagnosis: Diagnosis) -> str:
    blocks = [diagnosis.summary] if diagnosis.summary else []
    blocks += [_finding(finding) for finding in diagnosis.findings]
    if diagnosis.broken is not None and not diagnosis.summary and diagnosis.not_examined:
        names = ", ".join(link.name.lower() for link in diagnosis.not_examined)
        blocks.append(
            f"Not examined, because {diagnosis.broken.name.lower()} comes first: {names}."
        )
    if not blocks:
        blocks.append("Nothing to change: hardware, driver, CUDA and container are in order.")
    return "\n\n".join(blocks)


def _finding(finding: Finding) -> str:
    return "\n".join(
        [
            f"{_WORDS[finding.severity]}[{finding.code}]: {finding.seen}",
            f"  why: {finding.why}",
            f"  fix: {finding.fix}",
        ]
    )
