"""Size and sha256 of a file behind a URL, without keeping it."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request

from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest

CHUNK = 1 << 20
TIMEOUT_SECONDS = 60
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
SCHEMES = ("https", "http", "file")


def digest_of(url: str) -> FileDigest:
    """Read `url` to its end; raises `InputError` when it cannot be read or is a Git LFS pointer."""
    if url.partition(":")[0] not in SCHEMES:
        raise InputError(Problem("a URL of an unknown kind", url, ", ".join(SCHEMES)))
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
            promised = response.headers.get("Content-Length")
            sha256, size, start = hashlib.sha256(), 0, b""
            while chunk := response.read(CHUNK):
                start = start or chunk[: len(LFS_POINTER)]
                sha256.update(chunk)
                size += len(chunk)
    except urllib.error.HTTPError as error:
        fix = "is the revision, and the file in it, written as the host has it?"
        if error.code in (401, 403):
            fix = "the host wants a login, and a build has none: use a copy that needs none"
        answer = f"{error.code} {error.reason}"
        raise InputError(
            Problem("the host refused the file", url, actual=answer, fix=fix)
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = str(getattr(error, "reason", error))
        fix = "check the address and the network, then try again: nothing was written"
        raise InputError(Problem("cannot be read", url, actual=reason, fix=fix)) from error
    if promised is not None and int(promised) != size:
        expected, actual = f"{promised} bytes", f"{size} bytes"
        raise InputError(Problem("the transfer broke off", url, expected, actual, "try again"))
    if start == LFS_POINTER:
        raise InputError(
            Problem("a Git LFS pointer instead of the file", url, fix="use the URL of the content")
        )
    return FileDigest(sha256.hexdigest(), size)
