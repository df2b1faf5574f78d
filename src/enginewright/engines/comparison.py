"""Compare the files of two builds byte for byte, and say what differs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from enginewright.engines import onnx_difference, safetensors_difference
from enginewright.engines.first_difference import first_difference
from enginewright.errors import Problem
from enginewright.hashing import FileDigest

_FIX = "look for an input of the build that is not declared: environment, version, device"


def compare(first: Mapping[str, Path], second: Mapping[str, Path]) -> list[Problem]:
    """A problem for each file that differs or that one build alone made.

    The files are those of one build each, by their paths in its outputs. A problem has both
    digests, the offset of the first byte that differs and, for files of ONNX and safetensors, the
    tensors, nodes or fields that do.
    """
    problems = []
    for name in sorted({*first} | {*second}):
        if name not in first or name not in second:
            made, absent = ("first", "second") if name in first else ("second", "first")
            what = "only one of two builds of the same inputs made a file"
            problems.append(Problem(what, name, f"by the {made} build", f"not by the {absent}"))
            continue
        offset = first_difference(first[name], second[name])
        if offset is not None:
            problems.append(_difference(name, offset, first, second))
    return problems


def _difference(
    name: str, offset: int, first: Mapping[str, Path], second: Mapping[str, Path]
) -> Problem:
    one, two = FileDigest.of(first[name]), FileDigest.of(second[name])
    found = safetensors_difference.differences(first[name], second[name])
    found = found or onnx_difference.differences(name, first, second)
    place = f"{name}, first difference at byte {offset}"
    return Problem(
        "two builds of the same inputs differ",
        ": ".join([place, *([_listed(found)] if found else [])]),
        f"sha256 {one.sha256}, {one.size} bytes",
        f"sha256 {two.sha256}, {two.size} bytes",
        _FIX,
    )


def _listed(found: list[str], shown: int = 5) -> str:
    more = len(found) - shown
    return ", ".join(found[:shown]) + (f" and {more} more" if more > 0 else "")
