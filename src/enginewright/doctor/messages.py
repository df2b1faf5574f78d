"""Recognise error texts in a captured log and explain them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.errors import InputError, Problem
from enginewright.host.model import Host

MAX_LINE = 4096
"""Characters of a line that are looked at; the rest of a longer line is skipped."""
MAX_LOG = 512 << 20
"""Bytes of a log that are looked at."""


@dataclass(frozen=True)
class Message:
    code: str
    link: Link
    severity: Severity
    pattern: re.Pattern[str]
    seen: str
    why: str
    fix: str
    action: str
    rows: tuple[int, ...]
    """Rows of docs/cases.md."""


@cache
def messages() -> tuple[Message, ...]:
    """The texts of `messages.toml`, in its order."""
    text = files("enginewright.doctor").joinpath("messages.toml").read_text(encoding="utf-8")
    return tuple(
        Message(
            code=entry["code"],
            link=Link[entry["link"].upper()],
            severity=Severity[entry["severity"].upper()],
            pattern=re.compile(entry["pattern"]),
            seen=entry["seen"],
            why=entry["why"],
            fix=entry["fix"],
            action=entry.get("action", ""),
            rows=tuple(entry["rows"]),
        )
        for entry in tomllib.loads(text)["message"]
    )


def explain(lines: Iterable[str], host: Host | None = None) -> list[Finding]:
    """One finding for each known text, in the order of the log; a repeated one counts once.

    With a host, the fix includes the command for its distribution.
    """
    found: dict[tuple[str, str], Finding] = {}
    for line in lines:
        for message in messages():
            match = message.pattern.search(line[:MAX_LINE])
            if match:
                values = match.groupdict()
                fix = message.fix.format(**values)
                if message.action and host is not None:
                    fix += f": {command(message.action, host)}"
                finding = Finding(
                    message.code,
                    message.link,
                    message.severity,
                    message.seen.format(**values),
                    message.why.format(**values),
                    fix,
                )
                found.setdefault((finding.code, finding.seen), finding)
    return list(found.values())


def read_log(path: Path) -> Iterable[str]:
    """Lines of a log file, each cut to `MAX_LINE` characters; raise `InputError` if unreadable.

    A line of hundreds of MiB costs no more memory than one read.
    """
    try:
        with path.open("rb") as stream:
            yield from _lines(stream.read, MAX_LOG)
    except OSError as error:
        raise InputError(
            Problem("cannot read the log", str(path), actual=error.strerror or str(error))
        ) from error


def _lines(read: Callable[[int], bytes], limit: int) -> Iterable[str]:
    rest, skipping, seen = b"", False, 0
    while seen < limit and (block := read(1 << 20)):
        seen += len(block)
        *whole, last = (rest + block).split(b"\n")
        for line in whole:
            if not skipping:
                yield line[: 4 * MAX_LINE].decode("utf-8", "replace")
            skipping = False
        rest = last
        if len(rest) > 4 * MAX_LINE:
            if not skipping:
                yield rest[: 4 * MAX_LINE].decode("utf-8", "replace")
            rest, skipping = b"", True
    if rest and not skipping:
        yield rest.decode("utf-8", "replace")
