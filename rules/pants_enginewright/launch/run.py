"""Runs a module of the library on behalf of a user: `run.py FOLDER MODULE [ARGUMENT...]`.

As `start.py`, but with arguments and in FOLDER, where the user's relative paths begin.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import start  # type: ignore[import-not-found]


def main(folder: str, module: str, *arguments: str) -> None:
    wheels = json.loads(Path("wheels.json").read_text(encoding="utf-8"))
    folders = [start.LIBRARY.resolve()] if start.LIBRARY.is_dir() else []
    if wheels:
        folders.append(start.environment(wheels))
    sys.path[:1] = map(str, folders)
    os.chdir(folder)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
