"""`enginewright probe`."""

from __future__ import annotations

import argparse
import sys

from enginewright import canonical_json
from enginewright.commands.command import EXIT_USAGE, Command
from enginewright.commands.examined_host import add_bundle, examined_host
from enginewright.host.fact import to_json
from enginewright.host.report import text


def arguments(parser: argparse.ArgumentParser) -> None:
    add_bundle(parser)
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> int:
    host = examined_host(options.bundle)
    if options.json:
        sys.stdout.write(canonical_json.dumps(to_json(host)))
    else:
        print(text(host))
    return 0


COMMAND = Command(
    "probe",
    "show the GPUs, driver, libraries and limits of a host",
    arguments,
    run,
    # Without facts there is nothing to judge: that is no finding.
    on_input_error=EXIT_USAGE,
)
