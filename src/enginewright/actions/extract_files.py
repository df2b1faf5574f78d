"""Step: take named files out of a locked distribution (wheel).

Inputs: `wheels` (one or more). Parameters: `folder`, inside the distribution ("" for its top);
`names`, of files relative to it. Outputs: the files, under those names.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path, PurePosixPath

from enginewright.actions.protocol import ActionRequest, InputFile, Result, main
from enginewright.errors import Problem, raise_if_any


def run(request: ActionRequest, outputs: Path) -> Result:
    folder: str = request.parameters["folder"]
    names: list[str] = request.parameters["names"]
    members = {name: str(PurePosixPath(folder, name)) for name in names}
    wheels = request.files("wheels")
    holders = {name: _find(member, wheels) for name, member in members.items()}
    available = sorted(
        {
            m
            for wheel in wheels
            for m in zipfile.ZipFile(wheel.path).namelist()
            if not m.endswith("/")
        }
    )
    raise_if_any(
        [
            Problem(
                "the distribution has no such file",
                f"{', '.join(wheel.path.name for wheel in wheels)}: {members[name]}",
                ", ".join(available[:40]) + (", ..." if len(available) > 40 else ""),
                fix="correct the file's name, or `distribution_path`",
            )
            for name, holder in holders.items()
            if holder is None
        ]
    )
    for name, holder in holders.items():
        assert holder is not None
        target = outputs / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            zipfile.ZipFile(holder.path) as archive,
            archive.open(members[name]) as source,
            target.open("wb") as stream,
        ):
            shutil.copyfileobj(source, stream, 1 << 20)
    return {"files": sorted(names)}


def _find(member: str, wheels: tuple[InputFile, ...]) -> InputFile | None:
    for wheel in wheels:
        if member in zipfile.ZipFile(wheel.path).namelist():
            return wheel
    return None


if __name__ == "__main__":
    main(run)
