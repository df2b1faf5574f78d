"""Where a command writes the file that it makes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_output(parser: argparse.ArgumentParser, help_text: str) -> None:
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help=help_text)


def write(output: Path | None, text: str) -> None:
    """To the file, in a new folder where it has none, or to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
