"""`enginewright record`."""

from __future__ import annotations

import argparse
from pathlib import Path

from enginewright.commands.command import Command
from enginewright.commands.record_comparison import compare, read_record, render


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", type=Path, metavar="FIRST")
    parser.add_argument("second", type=Path, metavar="SECOND")


def run(options: argparse.Namespace) -> int:
    first, second = (read_record(path) for path in (options.first, options.second))
    pairs = compare(first, second)
    print(render(pairs))
    return int(any(pair.is_nondeterministic for pair in pairs))


COMMAND = Command("record", "show two build records side by side", arguments, run)
