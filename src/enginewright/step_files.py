"""The files of a step: inputs that it left alone, and the digests of what it put out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from enginewright import canonical_json
from enginewright.errors import Problem
from enginewright.hashing import FileDigest

DIGESTS = "digests.json"
_READ_AGAIN = 1 << 20
"""Inputs of up to so many bytes are hashed again after the step."""


class InputChangedError(Exception):
    """A step, or a tool that it started, changed a file that it was to read: a defect of ours."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))


@dataclass(frozen=True)
class Untouched:
    """Input files as they were before the step."""

    promised: Mapping[Path, FileDigest]
    states: Mapping[Path, tuple[int, int]]
    """Size in bytes and time of the last change in nanoseconds; files that were not there lack."""

    @classmethod
    def before(cls, promised: Iterable[tuple[Path, FileDigest]]) -> Untouched:
        files = dict(promised)
        return cls(files, {path: _state(path) for path in files if path.is_file()})

    def raise_if_changed(self) -> None:
        """Raise `InputChangedError` with every file that is another one now.

        Large files are read again only where their time says so: it tells of all but those who
        hide it.
        """
        changed = [path for path in self.states if not self._is_as_before(path)]
        if changed:
            raise InputChangedError([self._describe(path) for path in sorted(changed)])

    def _is_as_before(self, path: Path) -> bool:
        if not path.is_file():
            return False
        (size, time), (size_now, time_now) = self.states[path], _state(path)
        promised = self.promised[path]
        if size != size_now or size != promised.size:
            # A file that was never the promised one is for the step to refuse.
            return size == size_now
        # NB: another time alone says nothing. A large input is a link into Pants' store, and that
        # touches its files to remember which are in use.
        if size > _READ_AGAIN and time == time_now:
            return True
        return FileDigest.of(path) == promised

    def _describe(self, path: Path) -> Problem:
        actual = FileDigest.of(path) if path.is_file() else None
        return Problem(
            "the step changed one of its inputs",
            str(path),
            _text(self.promised[path]),
            "no file" if actual is None else _text(actual),
        )


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _text(digest: FileDigest) -> str:
    return f"sha256 {digest.sha256}, {digest.size} bytes"


def write_digests(outputs: Path) -> None:
    """Write `digests.json`: sha256 and size of each file, by its path in the folder.

    Whoever gets the files from a cache compares: what a disk cut short is no result.
    """
    files = {
        path.relative_to(outputs).as_posix(): asdict(FileDigest.of(path))
        for path in sorted(outputs.rglob("*"))
        if path.is_file()
    }
    canonical_json.write(outputs / DIGESTS, {"files": files})
