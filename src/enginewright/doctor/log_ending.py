"""Whether a log ends in an error, known or not, and which line says so.

A program that fails writes its error last; what it says before its last lines may have been mended.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

_LAST = 40
"""Lines at the end that are looked at; a traceback or the frames of a crash may be that long."""

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EXCEPTION = re.compile(
    r"^(?:[\[(][^\])]{1,60}[\])]:? *)?(?:[\w.]+\.)?\w*(?:Error|Exception|Failure|Exit|Interrupt)"
    r"(?:: .*|:?$)"
)
"""The last line of a traceback, behind the prefix of a worker; `what():` is that of C++."""
_ENDINGS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^\s*what\(\): ",
        r"(?i)\b(?:core dumped|segmentation fault|bus error|illegal instruction)\b",
        r"\bSIG(?:SEGV|ABRT|KILL|BUS|ILL|FPE)\b",
        r"terminate called (?:after|without|recursively)",
        r"(?i)\bpanic(?:ked)?\b",
        r"\b(?:FATAL|CRITICAL|Fatal)\b|^fatal\b|\bfatal(?: error)?\s*:",
        r"\[(?:E|F|ERROR|FATAL)(?:\]|:)|^[EF]\d{4} \d\d:\d\d:\d\d",
        r"(?:^|[\s|(\[])ERROR(?:$|[\s:|)\]])",
        r"(?:^|\s)(?:[Ee]rror|ERR!?): \S",
        r"(?i)\bexit(?:ed)?(?: with)?(?: non-zero)?(?: (?:code|status))?:? *-?[1-9]\d*\b",
        r"^Aborted\b|^Killed\b|^Abort trap\b|Assertion .{1,300} failed",
        r"^Traceback \(most recent call last\):",
    )
)
"""What a last line of a failed program looks like, the most telling first."""
_ENDED_WELL = re.compile(
    r"(?i)\b(?:0|no) (?:errors?|failures?|failed)\b|\berrors? *[=:] *0\b"
    r"|\bexit(?:ed)?(?: with)?(?: (?:code|status))?:? *0\b"
)


@dataclass(frozen=True)
class Ending:
    """The line that tells best why a log ends."""

    number: int
    """From 1."""
    line: str


def fatal_ending(lines: Iterable[str]) -> Ending | None:
    """The fatal line among the last ones of a log, or None where it does not end in an error."""
    last: deque[Ending] = deque(maxlen=_LAST)
    for number, line in enumerate(lines, 1):
        text = _ESCAPES.sub("", line).strip()
        if text:
            last.append(Ending(number, text[:500]))
    tail = [ending for ending in last if not _ENDED_WELL.search(ending.line)]
    exceptions = [ending for ending in tail if _EXCEPTION.search(ending.line)]
    if exceptions:
        return exceptions[-1]
    for pattern in _ENDINGS:
        found = [ending for ending in tail if pattern.search(ending.line)]
        if found:
            return found[-1]
    return None
