"""Recognise error texts in a captured log and explain them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.fixes import command
from enginewright.doctor.log_numbers import derive
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
    derived: Mapping[str, tuple[str, ...]]
    """Names for the explanation that follow from the pattern's: see `log_numbers.derive`."""
    source: str
    """Where the text was seen: a public report, a vendor's document, or a program run here."""
    rows: tuple[int, ...]
    """Rows of docs/cases.md."""


TEXTS = ("driver", "container", "cuda", "nccl", "tensorrt", "onnxruntime", "serving", "pants")
"""Files of `log_texts`, by who writes the texts."""


@cache
def messages() -> tuple[Message, ...]:
    """All known texts, in the order of `TEXTS` and of the files."""
    return tuple(message for name in TEXTS for message in _read(name))


def _read(name: str) -> tuple[Message, ...]:
    path = files("enginewright.doctor").joinpath("log_texts", f"{name}.toml")
    text = path.read_text(encoding="utf-8")
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
            derived={key: tuple(rule) for key, rule in entry.get("derived", {}).items()},
            source=entry["source"],
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
                found_here = {name: text or "" for name, text in match.groupdict().items()}
                values = derive(message.derived, found_here)
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


def unread_bytes(path: Path) -> int:
    """Bytes at the beginning of a log that `read_log` leaves out."""
    try:
        return max(0, path.stat().st_size - MAX_LOG)
    except OSError:
        return 0


def read_log(path: Path) -> Iterable[str]:
    """Lines of a log file, each cut to `MAX_LINE` characters; raise `InputError` if unreadable.

    A line of hundreds of MiB costs no more memory than one read. Of a log beyond `MAX_LOG` bytes
    the end is read.
    """
    try:
        with path.open("rb") as stream:
            if unread := unread_bytes(path):
                stream.seek(unread)
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
