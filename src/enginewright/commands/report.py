"""`enginewright report`."""

from __future__ import annotations

import argparse
from html import escape
from pathlib import Path
from urllib.parse import quote

from enginewright.commands import output
from enginewright.commands.command import Command, main
from enginewright.errors import InputError, Problem
from enginewright.report.html import page
from enginewright.report.package import ReportRequest, make_report

INDEX = "index.html"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("packages", type=Path, nargs="+", metavar="PACKAGE_DIR")
    parser.add_argument("--record", type=Path, metavar="FILE", help="the build record")
    parser.add_argument("--accuracy", type=Path, metavar="FILE", help="report.json of a test")
    parser.add_argument("--quantization", type=Path, metavar="FILE", help="report.json of a model")
    parser.add_argument("--checkpoint", type=Path, metavar="DIR", help="with safetensors files")
    parser.add_argument("--compare", type=Path, metavar="PACKAGE_DIR", help="another package")
    parser.add_argument("--compare-record", type=Path, metavar="FILE", help="another build record")
    parser.add_argument("--output", "-o", type=Path, required=True, metavar="DIR")


def run(options: argparse.Namespace) -> int:
    of_one = (options.accuracy, options.quantization, options.checkpoint, options.compare)
    if len(options.packages) > 1 and any(of_one):
        what = "--accuracy, --quantization, --checkpoint and --compare are of one package"
        fix = "make the reports one by one, then all of them for the index"
        raise InputError(Problem(what, "arguments", "1", f"{len(options.packages)} packages", fix))
    if options.compare_record is not None and options.record is None:
        raise InputError(Problem("--compare-record needs --record", "arguments", fix="give both"))
    reports = [
        make_report(
            ReportRequest(
                package,
                options.record,
                options.accuracy,
                options.quantization,
                options.checkpoint,
                options.compare,
                options.compare_record,
            )
        )
        for package in options.packages
    ]
    for report in reports:
        output.write(options.output / f"{report.name}.html", report.text)
    output.write(options.output / INDEX, _index(options.output))
    for report in reports:
        print(options.output / f"{report.name}.html")
    return 0


def _index(folder: Path) -> str:
    """A list of all the reports that lie in the folder."""
    names = sorted(path.stem for path in folder.glob("*.html") if path.name != INDEX)
    links = "".join(f'<li><a href="{quote(n)}.html">{escape(n)}</a></li>' for n in names)
    return page("Engines", [], f"<ul>{links}</ul>\n")


COMMAND = Command("report", "a packaged engine as one HTML file", arguments, run)

if __name__ == "__main__":
    main(COMMAND)
