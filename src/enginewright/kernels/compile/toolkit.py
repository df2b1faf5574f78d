"""Find the CUDA compiler among the installed wheels and make it runnable.

The wheels share the folder `nvidia/cu13`. It may be read-only, reached through a symbolic link, or
split over several import-path entries; and an unpacked wheel may have lost its executable bits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from enginewright.errors import InputError, Problem

WHEEL_FOLDER = Path("nvidia/cu13")
TOOLS = (
    "bin/nvcc",
    "bin/cudafe++",
    "bin/ptxas",
    "bin/fatbinary",
    "nvvm/bin/cicc",
)
"""Programs that have to be executable."""
DATA = (
    "bin/nvcc.profile",
    "bin/crt",
    "nvvm/libdevice",
)
"""What those programs read at a place relative to themselves."""
_FIX = (
    "Add nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime and nvidia-cuda-cccl "
    "to the lock file of the step's environment."
)


@dataclass(frozen=True)
class Toolkit:
    root: Path
    """Holds `bin` and `nvvm`; absolute."""
    include_directories: tuple[Path, ...]
    """Toolkit headers; absolute."""

    def program(self, name: str) -> Path:
        return self.root / "bin" / name

    def version(self) -> str:
        """Of nvcc, such as `13.0.88`."""
        output = subprocess.run(
            [self.program("nvcc"), "--version"], capture_output=True, text=True, check=True, env={}
        ).stdout
        return output.rsplit(", V", 1)[1].split()[0]


def find_toolkit(import_path: Iterable[str], scratch: Path) -> Toolkit:
    """The toolkit that the entries of `import_path` hold together.

    Where tools are not executable or lie in several entries, a runnable copy is made in `scratch`.
    Raises `InputError` naming every file that no entry has.
    """
    parts = [Path(entry).absolute() / WHEEL_FOLDER for entry in import_path]
    parts = [part for part in dict.fromkeys(parts) if part.is_dir()]
    found = {name: _first(parts, name) for name in (*TOOLS, *DATA, "include/cuda_runtime.h")}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise InputError(
            Problem(
                "the CUDA toolkit of the step's environment is incomplete",
                str(WHEEL_FOLDER),
                ", ".join(missing),
                f"looked in {len(parts)} folders" if parts else "no import-path entry has it",
                _FIX,
            )
        )
    includes = []
    for part in parts:
        includes += [part / "include", part / "include/cccl"]
    include_directories = tuple(folder for folder in includes if folder.is_dir())
    paths = {name: path for name, path in found.items() if path is not None}
    in_one_place = len({path.parents[name.count("/")] for name, path in paths.items()}) == 1
    if in_one_place and all(os.access(paths[name], os.X_OK) for name in TOOLS):
        return Toolkit(paths["bin/nvcc"].parents[1], include_directories)
    return Toolkit(_runnable_copy(paths, scratch / "toolkit"), include_directories)


def _first(parts: Iterable[Path], name: str) -> Path | None:
    return next((part / name for part in parts if (part / name).exists()), None)


def _runnable_copy(paths: dict[str, Path], root: Path) -> Path:
    for name in TOOLS:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(paths[name], target)
        target.chmod(0o755)
    for name in DATA:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(paths[name])
    return root.absolute()
