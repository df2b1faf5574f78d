"""A host as data: what a bundle holds, and a source that answers from it.

`RecordingSource` stands between the probe and a live host and keeps every answer, so that a bundle
holds what the probe reads and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from enginewright.host.sources import FileStatus, Source, UnavailableError

T = TypeVar("T")


@dataclass
class Capture:
    """Answers by path; what was unavailable is in `missing`, by question and path."""

    files: dict[str, bytes] = field(default_factory=dict)
    directories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    statuses: dict[str, FileStatus] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    variables: dict[str, str | None] = field(default_factory=dict)
    python_paths: tuple[str, ...] = ()
    nvml: Mapping[str, Any] = field(default_factory=lambda: {"error": "not captured"})
    now: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    recorded: bool = field(default=False, compare=False)
    """Whether a probe asked for all of it: what is in no answer was then never asked, as in a
    bundle of an older version, and is not known to be absent."""


NEVER_ASKED = "not in the bundle: collect it anew with this version"


class CapturedSource:
    """Answers from a `Capture`; what it does not hold is unavailable."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    def _find(self, question: str, path: str, answers: Mapping[str, T]) -> T:
        if path in answers:
            return answers[path]
        otherwise = NEVER_ASKED if self._capture.recorded else "no such file or directory"
        raise UnavailableError(self._capture.missing.get(f"{question} {path}", otherwise))

    def read(self, path: str) -> bytes:
        return self._find("read", path, self._capture.files)

    def list_directory(self, path: str) -> tuple[str, ...]:
        return self._find("list", path, self._capture.directories)

    def status(self, path: str) -> FileStatus:
        return self._find("status", path, self._capture.statuses)

    def filesystem_size(self, path: str) -> int:
        return self._find("size", path, self._capture.sizes)

    def environment(self, name: str) -> str | None:
        if self._capture.recorded and name not in self._capture.variables:
            raise UnavailableError(NEVER_ASKED)
        return self._capture.variables.get(name)

    def python_paths(self) -> tuple[str, ...]:
        return self._capture.python_paths

    def nvml(self) -> Mapping[str, Any]:
        return self._capture.nvml

    def now(self) -> int:
        return self._capture.now


class RecordingSource:
    """Passes every question on and keeps the answer in `capture`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.capture = Capture(
            python_paths=source.python_paths(), nvml=source.nvml(), now=source.now()
        )

    def _keep(self, question: str, path: str, ask: Callable[[str], T], answers: dict[str, T]) -> T:
        try:
            answers[path] = ask(path)
        except UnavailableError as error:
            self.capture.missing[f"{question} {path}"] = str(error)
            raise
        return answers[path]

    def read(self, path: str) -> bytes:
        return self._keep("read", path, self._source.read, self.capture.files)

    def list_directory(self, path: str) -> tuple[str, ...]:
        return self._keep("list", path, self._source.list_directory, self.capture.directories)

    def status(self, path: str) -> FileStatus:
        return self._keep("status", path, self._source.status, self.capture.statuses)

    def filesystem_size(self, path: str) -> int:
        return self._keep("size", path, self._source.filesystem_size, self.capture.sizes)

    def environment(self, name: str) -> str | None:
        self.capture.variables[name] = self._source.environment(name)
        return self.capture.variables[name]

    def python_paths(self) -> tuple[str, ...]:
        return self._source.python_paths()

    def nvml(self) -> Mapping[str, Any]:
        return self._source.nvml()

    def now(self) -> int:
        return self._source.now()
