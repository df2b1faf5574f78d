"""Run a packaged engine: `python -m enginewright.run DIR --prompt TEXT`, or `--lines FILE`.

Text goes to standard output as it is generated, figures to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from enginewright.errors import InputError
from enginewright.run.command import Command, run_command
from enginewright.tasks.text_generation.sampling import SamplingSettings


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m enginewright.run", description="Run a packaged engine."
    )
    result.add_argument("engine", type=Path, help="folder with engine.json")
    source = result.add_mutually_exclusive_group(required=True)
    source.add_argument("--prompt", help="generate text after this one")
    source.add_argument(
        "--lines",
        type=Path,
        metavar="FILE",
        help="embed each line of a UTF-8 file; one JSON array a line comes out",
    )
    result.add_argument("--max-tokens", type=int, default=128, help="default 128")
    result.add_argument(
        "--temperature", type=float, default=0.0, help="0, the default, is the likeliest token"
    )
    result.add_argument("--top-k", type=int, default=0, help="0, the default, is all tokens")
    result.add_argument("--top-p", type=float, default=1.0, help="default 1")
    result.add_argument("--seed", type=int, default=0, help="same seed, same text; default 0")
    result.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="end before this text"
    )
    result.add_argument("--threads", type=int, default=0, help="0, the default, is all processors")
    result.add_argument(
        "--json", action="store_true", help="one JSON object at the end instead of a stream"
    )
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    try:
        command = Command(
            folder=given.engine,
            prompt=given.prompt,
            lines=given.lines,
            max_tokens=given.max_tokens,
            sampling=SamplingSettings(given.temperature, given.top_k, given.top_p, given.seed),
            stop=tuple(given.stop),
            threads=given.threads,
        )
        stream = None if given.json else sys.stdout
        report = run_command(command, stream)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if given.json:
        print(json.dumps(report.document, ensure_ascii=False, sort_keys=True))
    print(report.figures, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
