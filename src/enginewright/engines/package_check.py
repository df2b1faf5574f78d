"""Check the files of an engine package against its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from enginewright.engines.manifest import PLAN_NAME, Manifest
from enginewright.errors import Problem
from enginewright.hashing import FileDigest

_FIX = "package the engine again; do not edit its files"


def match(listed: Mapping[str, FileDigest], paths: tuple[Path, ...]) -> dict[str, Path]:
    """Package path -> file, where the end of the file's path is the package path.

    The longest package path wins, so `a/config.json` is not taken for `config.json`.
    """
    matched: dict[str, Path] = {}
    for path in paths:
        parts = path.parts
        tails = (str(PurePosixPath(*parts[start:])) for start in range(len(parts)))
        name = next((tail for tail in tails if tail in listed and tail not in matched), None)
        if name is not None:
            matched[name] = path
    return matched


def check(manifest: Manifest, plan: Path, package: tuple[Path, ...]) -> list[Problem]:
    """One problem for each listed file that is absent or has other bytes."""
    files = {**match(manifest.files, package), PLAN_NAME: plan}
    problems = []
    for name, expected in sorted(manifest.files.items()):
        if name not in files:
            given = ", ".join(sorted(str(path) for path in package)) or "no files"
            problems.append(
                Problem("a file of the package is missing", name, _text(expected), given, _FIX)
            )
            continue
        actual = FileDigest.of(files[name])
        if actual != expected:
            what = "a file of the package is not the one in the manifest"
            problems.append(Problem(what, name, _text(expected), _text(actual), _FIX))
    return problems


def _text(digest: FileDigest) -> str:
    return f"sha256 {digest.sha256}, {digest.size} bytes"
