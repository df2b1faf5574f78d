"""A captured log: the known error texts in it, and whether it ends in an unknown one."""

from __future__ import annotations

from pathlib import Path

from enginewright.doctor.finding import Diagnosis, Finding, Link, Severity, Skipped
from enginewright.doctor.log_ending import Ending, fatal_ending
from enginewright.doctor.messages import explain, read_log, unread_bytes
from enginewright.host.model import Host

NOTHING_KNOWN = "No known error text in this log."


def examine_log(path: Path, host: Host | None = None) -> Diagnosis:
    """Explain a log; raise `InputError` where it cannot be read.

    A log that ends in an error is an error even where no text of it is known.
    """
    found = explain(read_log(path), host)
    if not any(finding.severity == Severity.ERROR for finding in found):
        ending = fatal_ending(read_log(path))
        found += [_unknown(ending)] if ending else []
    unread = unread_bytes(path)
    skipped: tuple[Skipped, ...] = ()
    if unread:
        what = f"its first {unread} bytes were not read: the end of a log tells more"
        skipped = (Skipped("beginning of the log", Link.APPLICATION, what),)
    return Diagnosis(tuple(found), None, "" if found else NOTHING_KNOWN, 0, skipped)


def _unknown(ending: Ending) -> Finding:
    return Finding(
        "log.unknown-error",
        Link.APPLICATION,
        Severity.ERROR,
        f"line {ending.number}, where the log ends: {ending.line}",
        "the program failed, and this text is not among those that are known here",
        "search the words of that line in the issues of the program that wrote it; the lines above "
        "it say what it was doing",
    )
