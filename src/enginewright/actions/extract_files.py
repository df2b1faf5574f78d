"""Step: take named files out of a locked distribution (wheel).

Inputs: `wheels` (one or more). Parameters: `folder`, inside the distribution ("" for its top);
`names`, of files relative to it; `optional`, patterns (`*` is any text) of those that are taken
where they are there. Outputs: the files, under those names; where several wheels have one, that of
the first.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from enginewright.errors import Problem, raise_if_any
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    folder: str = request.parameters["folder"]
    names: list[str] = request.parameters["names"]
    wheels = request.files("wheels")
    for file in wheels:
        file.verify()
    contents = {file.path: _files_in(file.path) for file in wheels}
    patterns: list[str] = request.parameters.get("optional", [])
    matching = _matching(contents.values(), folder, patterns)
    members = {name: str(PurePosixPath(folder, name)) for name in [*names, *matching]}
    holders = {
        name: wheel
        for wheel in reversed(contents)
        for name, member in members.items()
        if member in contents[wheel]
    }
    available = sorted(set().union(*contents.values()))
    raise_if_any(
        [
            Problem(
                "the distribution has no such file",
                f"{', '.join(wheel.name for wheel in contents)}: {members[name]}",
                ", ".join(available[:40]) + (", ..." if len(available) > 40 else ""),
                fix="correct the file's name, or `distribution_path`",
            )
            for name in names
            if name not in holders
        ]
    )
    for name, wheel in holders.items():
        target = outputs / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(members[name]) as source,
            target.open("wb") as stream,
        ):
            shutil.copyfileobj(source, stream, 1 << 20)
    return {"files": sorted(members)}


def _matching(contents: Iterable[list[str]], folder: str, patterns: Sequence[str]) -> list[str]:
    """Paths relative to `folder` that one of the patterns has, as many folders deep as it is."""
    found = []
    for path in sorted({path for files in contents for path in files}):
        if not PurePosixPath(path).is_relative_to(folder):
            continue
        inside = PurePosixPath(path).relative_to(folder)
        if any(
            inside.match(pattern) and len(inside.parts) == pattern.count("/") + 1
            for pattern in patterns
        ):
            found.append(inside.as_posix())
    return found


def _files_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if not name.endswith("/")]


if __name__ == "__main__":
    main(run)
