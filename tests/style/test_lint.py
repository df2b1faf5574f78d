"""ruff has nothing to say of any Python file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).parents[2]


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."],
        cwd=TREE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_ruff_sees_the_files() -> None:
    listed = subprocess.check_output(
        [sys.executable, "-m", "ruff", "check", "--show-files", "."], cwd=TREE, text=True
    )
    paths = {Path(line).relative_to(TREE.resolve()).as_posix() for line in listed.splitlines()}
    assert {
        "benchmarks/plain_build.py",
        "launcher/install.py",
        "models/qwen3/train.py",
        "rules/pants_enginewright/register.py",
        "src/enginewright/errors.py",
        "tests/style/test_lint.py",
    } <= paths
