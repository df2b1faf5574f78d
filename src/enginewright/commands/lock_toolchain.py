"""`enginewright lock-toolchain`, the recipe of `./pants lock-toolchain` for any lock and wheels."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from enginewright import document
from enginewright.commands.command import Command
from enginewright.commands.examined_host import add_bundle, examined_host
from enginewright.commands.output import add_output, write
from enginewright.doctor.host_fit import host_device, host_problems, host_request
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.toolchains.request import LockRequest
from enginewright.toolchains.toolchain import Toolchain


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", metavar="REQUEST_OR_TOOLCHAIN")
    parser.add_argument("--lock", type=Path, metavar="FILE", help="lock file of the environment")
    parser.add_argument(
        "--libraries",
        type=Path,
        nargs="+",
        default=[],
        metavar="PATH",
        help="the product's wheels, or folders where they are installed",
    )
    parser.add_argument(
        "--python",
        default="3.11",
        metavar="VERSION",
        help="major.minor that the lock is for, by default 3.11",
    )
    add_output(parser, "the toolchain file")
    parser.add_argument("--check", action="store_true", help="whether a toolchain fits the host")
    parser.add_argument("--from-host", action="store_true", help="print a request for this host")
    parser.add_argument(
        "--environment",
        metavar="ADDRESS",
        help="of the request that --from-host prints, by default the product's in lockfiles",
    )
    add_bundle(parser)


def run(options: argparse.Namespace) -> int:
    if options.from_host:
        sys.stdout.write(host_request(examined_host(options.bundle), options.environment))
        return 0
    if options.file is None:
        raise InputError(Problem("no file named", expected="a request, or a toolchain to --check"))
    if options.check:
        toolchain = document.read(Toolchain, options.file)
        raise_if_any(host_problems(toolchain, examined_host(options.bundle)))
        print(f"{options.file} fits this host")
        return 0
    if options.lock is None:
        raise InputError(Problem("no lock file named", expected="--lock FILE"))
    try:
        # Here, because all other commands must start where nothing but Python is installed.
        from enginewright.toolchains.lock import lock_toolchain
    except ModuleNotFoundError as error:
        fix = "use `enginewright.pex`, or install the package"
        what = f"this command needs the package `{error.name}`"
        raise InputError(Problem(what, sys.executable, fix=fix)) from error
    request = document.read(LockRequest, options.file)
    if request.device is None:
        device = host_device(examined_host(options.bundle))
        request = dataclasses.replace(request, device=device)
    resolved = lock_toolchain(request, options.lock, options.libraries, options.python)
    write(options.output, resolved.text())
    return 0


COMMAND = Command("lock-toolchain", "resolve a request into a toolchain file", arguments, run)
