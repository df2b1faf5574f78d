"""mypy --strict accepts the library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).parents[2]


def test_mypy(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}"),
            *("--config-file", str(TREE / "pyproject.toml"), "-p", "enginewright"),
        ],
        cwd=TREE / "src",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("Success: no issues found in ")
