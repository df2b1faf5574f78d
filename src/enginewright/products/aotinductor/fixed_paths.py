"""A Python process whose paths read the same on every host, wherever its folder lies.

Compiled code has paths in it: of generated sources, of torch's headers, of the cache. Each is
written below `/proc/self/cwd`, which Linux resolves to the working folder of whoever asks. So the
text of a path is the same everywhere, and that needs neither a right to mount nor a folder that
two builds would share. Programs that the process starts must stay in its working folder.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path("/proc/self/cwd")
FOLDER = Path(".fixed")


def run_module(module: str, variables: Mapping[str, str]) -> int:
    """Run `module` with this process' import path under fixed names; return its exit code.

    Links and folders that it needs are made in the working folder. Its environment is `variables`
    and nothing of this process'; what it prints goes where this process prints.
    """
    FOLDER.mkdir(exist_ok=True)
    for folder in ("home", "tmp"):
        (FOLDER / folder).mkdir()
    entries = [str(link(f"path{n}", Path(entry))) for n, entry in enumerate(sys.path) if entry]
    environment = {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": ":".join(entries),
        "HOME": str(HERE / FOLDER / "home"),
        "TMPDIR": str(HERE / FOLDER / "tmp"),
        **variables,
    }
    command = [sys.executable, "-B", "-P", "-s", "-S", "-m", module]
    return subprocess.run(command, env=environment, check=False).returncode


def link(name: str, target: Path) -> Path:
    """A link to `target`, by a path that reads the same on every host."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / name).symlink_to(target.absolute())
    return HERE / FOLDER / name
