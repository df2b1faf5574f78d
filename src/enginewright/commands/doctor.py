"""`enginewright doctor`, which `./pants doctor` starts as a module of its own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from enginewright import canonical_json
from enginewright.commands.command import EXIT_USAGE, Command, main
from enginewright.commands.examined_host import add_bundle, examined_host
from enginewright.doctor.engine_facts import read_engine
from enginewright.doctor.finding import Diagnosis
from enginewright.doctor.log import examine_log
from enginewright.doctor.report import text
from enginewright.doctor.tensorrt_llm import engine_config_findings, is_tensorrt_llm_engine
from enginewright.doctor.walk import examine, lost_inside


def arguments(parser: argparse.ArgumentParser) -> None:
    add_bundle(parser)
    parser.add_argument("--engine", type=Path, metavar="DIR", help="folder of a packaged engine")
    parser.add_argument("--log", type=Path, metavar="FILE", help="explain the errors of a log")
    parser.add_argument(
        "--outside", type=Path, metavar="FILE", help="bundle of the host around this container"
    )
    parser.add_argument("--tensor-parallel", type=int, metavar="N")
    parser.add_argument(
        "--tensorrt-llm",
        metavar="RELEASE",
        help="the server's release, for an engine of that product",
    )
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> int:
    diagnosis = diagnosed(options)
    if options.json:
        sys.stdout.write(canonical_json.dumps(diagnosis.to_json()))
    else:
        print(text(diagnosis))
    return diagnosis.exit_code


def diagnosed(options: argparse.Namespace) -> Diagnosis:
    host = examined_host(options.bundle)
    if options.engine and is_tensorrt_llm_engine(options.engine):
        config = canonical_json.read_object(options.engine / "config.json")
        found = engine_config_findings(config, options.tensorrt_llm)
        return examine(host).with_findings(found, checks=1)
    engine = read_engine(options.engine) if options.engine else None
    if options.log:
        diagnosis = examine_log(options.log, host)
    else:
        diagnosis = examine(host, engine, options.engine, options.tensor_parallel)
    if options.outside:
        hidden = lost_inside(examined_host(options.outside), host)
        diagnosis = diagnosis.with_findings(hidden, checks=1)
    return diagnosis


COMMAND = Command(
    "doctor",
    "what is wrong with a host, or between it and an engine",
    arguments,
    run,
    # Without facts or an engine there is no diagnosis: that is no finding.
    on_input_error=EXIT_USAGE,
)


if __name__ == "__main__":
    main(COMMAND)
