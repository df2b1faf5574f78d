"""`enginewright collect`."""

from __future__ import annotations

import argparse
from pathlib import Path

from enginewright.commands.command import Command
from enginewright.commands.examined_host import live_source
from enginewright.host.bundle import write_bundle
from enginewright.host.captured import RecordingSource
from enginewright.host.probe import probe


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE")


def run(options: argparse.Namespace) -> int:
    recording = RecordingSource(live_source())
    probe(recording)
    write_bundle(recording.capture, options.file)
    print(f"{options.file}: examine it with `enginewright doctor --bundle {options.file}`")
    return 0


COMMAND = Command("collect", "write everything that the probe reads into one file", arguments, run)
