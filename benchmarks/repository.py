"""A repository for a benchmark to work in, its daemon, and checks of what was done there."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("pants", "pants.toml", "launcher", "lockfiles", "toolchains", "rules", "src")
"""What a repository with models and engines of its own needs of this one."""


def copy_plugin(root: Path, *more: str) -> None:
    """Make the folder `root` with what `./pants` needs there, and `more` of this repository."""
    root.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
    for name in (*COPIED, *more):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=ignored)
        else:
            shutil.copy2(source, root / name)


def own_store(folder: Path) -> dict[str, str]:
    """Variables with which Pants knows no result yet, and leaves nothing outside of `folder`."""
    sandboxes = folder / "sandboxes"  # a daemon that is ended leaves links to the store in them
    sandboxes.mkdir(parents=True, exist_ok=True)
    return {
        "PANTS_LOCAL_STORE_DIR": str(folder / "store"),
        "PANTS_LOCAL_EXECUTION_ROOT_DIR": str(sandboxes),
    }


def daemons(root: Path) -> list[int]:
    """Process numbers of the daemon of a repository; none where it never ran."""
    return [int(file.read_text()) for file in root.glob(".pids/*/pantsd/pid")]


def stop_daemon(root: Path) -> None:
    """End the daemon, and wait until it has ended."""
    for pid in daemons(root):
        try:
            os.kill(pid, signal.SIGTERM)
            while True:
                os.kill(pid, 0)
                time.sleep(0.1)
        except ProcessLookupError:
            pass


def expect(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        sys.exit(f"{what}: {actual}; expected {expected}")
