"""What a subcommand is, and how it is run: by `enginewright NAME`, or as a module of its own.

Exit codes: 0 all is well, 1 something has to change, 2 the command was used wrongly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

from enginewright.errors import InputError

EXIT_CHANGE = 1
EXIT_USAGE = 2


@dataclass(frozen=True)
class Command:
    name: str
    summary: str
    arguments: Callable[[argparse.ArgumentParser], None]
    """Adds what the command takes to its parser."""
    run: Callable[[argparse.Namespace], int]
    """Does the work and returns the exit code; raises `InputError`."""
    on_input_error: int = EXIT_CHANGE


def run(command: Command, options: argparse.Namespace) -> int:
    """Run a command; return its exit code, with what the user can mend on standard error."""
    try:
        return command.run(options)
    except InputError as error:
        print(error, file=sys.stderr)
        return command.on_input_error
    except OSError as error:
        print(f"{error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        return EXIT_USAGE


def main(command: Command) -> None:
    """Entry point of a command's module: `if __name__ == "__main__": main(COMMAND)`."""
    parser = argparse.ArgumentParser(f"enginewright {command.name}", description=command.summary)
    command.arguments(parser)
    sys.exit(run(command, parser.parse_args()))
