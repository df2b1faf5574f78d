"""What wheels say of themselves: name, version, and licence.

Source: core metadata 2.4 (`License-Expression` of PEP 639, `License`, `Classifier`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest
from enginewright.schema import INLINE, Name
from enginewright.toolchains.wheel_metadata import wheel_metadata

_LONGEST = 120
"""Characters of a field `License` that names one; more are its text."""
_CLASSIFIER = "License :: "


@dataclass(frozen=True)
class Licence:
    expression: str | None
    """As the field `License-Expression` has it, in SPDX' terms."""
    names: tuple[str, ...] = ()
    """In the wheel's own words, where it has no expression."""


@dataclass(frozen=True)
class Wheel:
    name: Name
    version: Name
    file: Name
    """Name of the wheel."""
    licence: Licence
    digest: FileDigest = field(metadata=INLINE)


def read_wheel(path: Path, digest: FileDigest) -> Wheel:
    """Raises `InputError` where the file is no wheel."""
    metadata = HeaderParser().parsestr(wheel_metadata(path))
    name, version = str(metadata["Name"] or ""), str(metadata["Version"] or "")
    if not name or not version:
        where = f"{path.name}, METADATA"
        raise InputError(Problem("the wheel does not say what it is", where, "Name and Version"))
    return Wheel(name, version, path.name, _licence(metadata), digest)


def _licence(metadata: Message) -> Licence:
    expression = metadata["License-Expression"]
    if expression is not None:
        return Licence(str(expression).strip())
    return Licence(None, tuple(dict.fromkeys(_names(metadata))))


def _names(metadata: Message) -> Iterator[str]:
    classifiers = [str(value) for value in metadata.get_all("Classifier", [])]
    for classifier in classifiers:
        # `License :: OSI Approved` alone says that there is one, and not which.
        if classifier.startswith(_CLASSIFIER) and classifier != "License :: OSI Approved":
            yield classifier.rpartition(" :: ")[2]
    stated = str(metadata["License"] or "").strip()
    if stated and stated != "UNKNOWN" and len(stated) <= _LONGEST and "\n" not in stated:
        yield stated
