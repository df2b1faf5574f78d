"""Run a packaged engine: `python -m enginewright.run DIR`, and the form of the engine's task.

Results go to standard output as they come, figures to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from enginewright.errors import InputError
from enginewright.run.command import Command, rooms, run_command, runner_of


def parser() -> argparse.ArgumentParser:
    """One group of options for each room of tasks; what was not given is not in the result."""
    result = argparse.ArgumentParser(
        prog="python -m enginewright.run", description="Run a packaged engine."
    )
    result.add_argument("engine", type=Path, help="folder with engine.json")
    result.add_argument("--threads", type=int, default=0, help="0, the default, is all processors")
    result.add_argument(
        "--json", action="store_true", help="one JSON object at the end instead of a stream"
    )
    taken: set[str] = set()
    for tasks in rooms().values():
        runner = runner_of(tasks[0])
        group = result.add_argument_group(runner.TITLE, "task " + ", ".join(t.name for t in tasks))
        for argument in runner.ARGUMENTS:
            # Several forms may have one: it is an option once.
            if argument.flag in taken:
                continue
            taken.add(argument.flag)
            group.add_argument(
                argument.flag,
                type=argument.kind,
                action="append" if argument.is_repeated else "store",
                default=argparse.SUPPRESS,
                help=argument.help,
            )
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    given = vars(parser().parse_args(arguments))
    folder, threads, as_json = (given.pop(name) for name in ("engine", "threads", "json"))
    try:
        report = run_command(Command(folder, given, threads), None if as_json else sys.stdout)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if as_json:
        print(json.dumps(report.document, ensure_ascii=False, sort_keys=True))
    print(report.figures, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
