"""API keys: who may ask."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from enginewright.errors import InputError, Problem

SHORTEST = 16


class Keys:
    """Of a file with a key a line; lines that begin with # say something else."""

    def __init__(self, path: Path) -> None:
        """Raises `InputError` for a file without keys, or with one that can be guessed."""
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            what = "the keys cannot be read"
            raise InputError(Problem(what, str(path), "a UTF-8 file", str(error))) from error
        keys = [line.strip() for line in lines]
        keys = [key for key in keys if key and not key.startswith("#")]
        if not keys or min(map(len, keys)) < SHORTEST:
            expected = f"at least one key, each of {SHORTEST} characters or more"
            what, fix = "the keys cannot be used", "openssl rand -hex 24"
            actual = f"{len(keys)} keys, the shortest of {min(map(len, keys), default=0)}"
            raise InputError(Problem(what, str(path), expected, actual, fix))
        self._digests = [hashlib.sha256(key.encode()).digest() for key in keys]

    def has(self, authorization: str) -> bool:
        """Whether a header is `Bearer KEY` with one of them; takes as long for any answer."""
        kind, _, key = authorization.partition(" ")
        given = hashlib.sha256(key.strip().encode("utf-8", "surrogateescape")).digest()
        same = [hmac.compare_digest(given, digest) for digest in self._digests]
        return kind.lower() == "bearer" and any(same)
