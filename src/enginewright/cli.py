"""The command `enginewright`: look at a host, ask whether an engine runs there, size, lock, serve.

Exit codes: 0 all is well, 1 something has to change, 2 the command was used wrongly.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from enginewright.commands import (
    collect,
    compat,
    doctor,
    history,
    lock_toolchain,
    pin,
    probe,
    record,
    report,
    serve,
    size,
    verify_store,
)
from enginewright.commands.command import Command, run

COMMANDS: tuple[Command, ...] = (
    probe.COMMAND,
    collect.COMMAND,
    doctor.COMMAND,
    compat.COMMAND,
    record.COMMAND,
    history.COMMAND,
    report.COMMAND,
    verify_store.COMMAND,
    size.COMMAND,
    lock_toolchain.COMMAND,
    pin.COMMAND,
    serve.COMMAND,
)


def main(given: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser("enginewright", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        added = commands.add_parser(command.name, help=command.summary, description=command.summary)
        added.set_defaults(command=command)
        command.arguments(added)
    options = parser.parse_args(given)
    return run(options.command, options)
