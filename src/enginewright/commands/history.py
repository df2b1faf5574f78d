"""`enginewright history`."""

from __future__ import annotations

import argparse
from pathlib import Path

from enginewright.commands import output
from enginewright.commands.command import Command, main
from enginewright.history import plot, table
from enginewright.history.course import courses
from enginewright.history.records import read_records


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR_OF_RECORDS", help="NAME.json each")
    parser.add_argument(
        "--repository",
        type=Path,
        metavar="DIR",
        help="the names are commits of this git repository, in whose order they are shown",
    )
    parser.add_argument(
        "--target", action="append", default=[], metavar="ADDRESS", help="only these; repeatable"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="writes an SVG picture too")


def run(options: argparse.Namespace) -> int:
    records = read_records(options.folder, options.repository)
    found = courses(records, options.target)
    print(table.render(found, records))
    if options.plot is not None:
        output.write(options.plot, plot.render(found, records))
    return 0


COMMAND = Command(
    "history", "sizes, times, accuracy and cache hits of many build records", arguments, run
)

if __name__ == "__main__":
    main(COMMAND)
