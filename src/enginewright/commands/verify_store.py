"""`enginewright verify-store`."""

from __future__ import annotations

import argparse
from pathlib import Path

from enginewright.commands.command import Command
from enginewright.commands.store_verification import default_store, verify_store


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", type=Path, metavar="DIR", help="by default ~/.cache/pants/lmdb_store"
    )


def run(options: argparse.Namespace) -> int:
    report = verify_store(options.store or default_store())
    print(report)
    return int(bool(report.damaged))


COMMAND = Command("verify-store", "hash the large files of Pants' store anew", arguments, run)
