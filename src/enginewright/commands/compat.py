"""`enginewright compat`."""

from __future__ import annotations

import argparse
import sys

from enginewright import canonical_json
from enginewright.commands.command import Command
from enginewright.compatibility.question import Question, answer, asked_row
from enginewright.compatibility.tables import TABLES, table
from enginewright.errors import raise_if_any


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("key", nargs="*", metavar="KEY")
    for name in ("target", "gcc", "ptx", "driver"):
        parser.add_argument(f"--{name}", metavar="VERSION", help="does the row go with it?")
    for name in ("opset", "ir-version"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help="does the reader take it?")
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> int:
    if not options.key:
        for key in table(options.table):
            print(key)
        return 0
    found = asked_row(options.table, " ".join(options.key))
    question = Question(
        target=options.target,
        gcc=options.gcc,
        ptx=options.ptx,
        opset=options.opset,
        ir_version=options.ir_version,
        driver=options.driver,
    )
    raise_if_any(answer(found, question))
    if options.json:
        document = {"table": found.table, "key": found.key, "source": found.source}
        sys.stdout.write(canonical_json.dumps({**document, "values": dict(found.values)}))
    else:
        print(found.text())
    return 0


COMMAND = Command(
    "compat", "show a row of a compatibility table, or a table's keys", arguments, run
)
