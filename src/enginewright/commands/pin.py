"""`enginewright pin`: from a revision on a hub to the text that pins it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from enginewright.commands.command import Command
from enginewright.commands.output import add_output, write
from enginewright.commands.pinning.build_text import render
from enginewright.commands.pinning.pin_request import HUGGING_FACE, PinRequest
from enginewright.commands.pinning.remote_file import digest_of
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.hashing import FileDigest


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repository", metavar="REPOSITORY", help="such as Qwen/Qwen3-0.6B")
    parser.add_argument("files", nargs="+", metavar="FILE", help="path inside the repository")
    parser.add_argument("--revision", required=True, metavar="COMMIT")
    parser.add_argument(
        "--url-template",
        default=HUGGING_FACE,
        metavar="URL",
        help=f"default {HUGGING_FACE}",
    )
    add_output(parser, "the BUILD file")


def run(options: argparse.Namespace) -> int:
    request = PinRequest(
        options.repository, options.revision, tuple(options.files), options.url_template
    )
    write(options.output, pin(request, lambda message: print(message, file=sys.stderr)))
    return 0


def pin(request: PinRequest, report: Callable[[str], None]) -> str:
    """Read every file once; raises `InputError` with the problems of all of them."""
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


COMMAND = Command("pin", "write the BUILD file that pins a checkpoint on a hub", arguments, run)
