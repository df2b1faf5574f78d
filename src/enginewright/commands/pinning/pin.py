"""From a revision to the text that pins it."""

from __future__ import annotations

from collections.abc import Callable

from enginewright.commands.pinning.build_text import render
from enginewright.commands.pinning.pin_request import PinRequest
from enginewright.commands.pinning.remote_file import digest_of
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.hashing import FileDigest


def pin(request: PinRequest, report: Callable[[str], None]) -> str:
    """Read every file once; raise `InputError` with the problems of all of them."""
    digests: dict[str, FileDigest] = {}
    problems: list[Problem] = []
    for number, file in enumerate(request.files, 1):
        report(f"{file}, file {number} of {len(request.files)}")
        try:
            digests[file] = digest_of(request.url(file))
        except InputError as error:
            problems += error.problems
    raise_if_any(problems)
    return render(request, digests)
