"""The host that a command looks at: this one, or the one that a bundle was collected on."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from enginewright.host import nvml
from enginewright.host.bundle import read_bundle
from enginewright.host.captured import CapturedSource
from enginewright.host.model import Host
from enginewright.host.probe import probe
from enginewright.host.sources import LiveSource


def add_bundle(parser: argparse.ArgumentParser) -> None:
    help_text = "a file from `enginewright collect`, instead of this host"
    parser.add_argument("--bundle", type=Path, metavar="FILE", help=help_text)


def live_source() -> LiveSource:
    return LiveSource(nvml.load(), int(time.time()))


def examined_host(bundle: Path | None) -> Host:
    """Raises `InputError` where the bundle is none."""
    return probe(CapturedSource(read_bundle(bundle)) if bundle else live_source())
