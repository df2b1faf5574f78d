"""Statements of in-toto, version 1: what is said, and of which files.

Source: the in-toto attestation framework, `spec/v1/statement.md` and `resource_descriptor.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from enginewright import document
from enginewright.document import encode
from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest
from enginewright.schema import NOT_EMPTY, Name, Sha256, named

TYPE: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"
MAX_BYTES = 64 << 20
"""More is no statement."""


@dataclass(frozen=True)
class Digests:
    OPEN: ClassVar[bool] = True

    sha256: Sha256


@dataclass(frozen=True)
class Subject:
    """A file that a statement is about."""

    OPEN: ClassVar[bool] = True

    name: Name
    """Its path in the package."""
    digest: Digests


@dataclass(frozen=True)
class Statement:
    subject: Annotated[tuple[Subject, ...], NOT_EMPTY]
    predicate_type: Name = field(metadata=named("predicateType"))
    predicate: Mapping[str, Any]
    type: Literal["https://in-toto.io/Statement/v1"] = field(default=TYPE, metadata=named("_type"))

    @classmethod
    def about(
        cls, files: Mapping[str, FileDigest], predicate_type: str, predicate: object
    ) -> Statement:
        """A statement about files by their paths; the predicate is a dataclass."""
        subjects = (Subject(name, Digests(digest.sha256)) for name, digest in sorted(files.items()))
        return cls(tuple(subjects), predicate_type, _without_nulls(encode(predicate)))

    @property
    def sha256(self) -> dict[str, str]:
        """Of each subject by its name."""
        return {item.name: item.digest.sha256 for item in self.subject}


def read_statement(path: Path) -> Statement:
    """Raises `InputError` for what is no statement."""
    if path.stat().st_size > MAX_BYTES:
        raise InputError(Problem("too large for a statement", str(path), f"{MAX_BYTES} bytes"))
    return document.read(Statement, path)


def _without_nulls(value: Any) -> Any:
    """The specifications leave out what is not known."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list | tuple) else value
