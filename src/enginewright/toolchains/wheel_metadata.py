"""What a wheel says of itself, read without unpacking it."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from enginewright.errors import InputError, Problem

MAX_METADATA = 1 << 20
ZIP_ERRORS = (
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,
    NotImplementedError,
    ValueError,
)
"""What Python's zip reader raises for a damaged or encrypted file."""


def wheel_metadata(path: Path) -> str:
    """The text of the wheel's METADATA; raises `InputError` for a file that is no wheel."""
    try:
        with zipfile.ZipFile(path) as wheel:
            # Deeper ones are of packages that the wheel brings along.
            ends = (f for f in wheel.namelist() if f.endswith(".dist-info/METADATA"))
            names = [name for name in ends if name.count("/") == 1]
            if len(names) != 1:
                raise InputError(Problem("not a wheel", str(path), "one METADATA", str(len(names))))
            with wheel.open(names[0]) as stream:
                return stream.read(MAX_METADATA).decode("utf-8", "replace")
    except ZIP_ERRORS as error:
        raise InputError(Problem("not a wheel", str(path), actual=str(error)[:200])) from error
