"""A second `./pants test` runs nothing; an edit runs the files of tests that can see it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from workspace import Workspace

BUILD = """\
library_tests(
    tool_environment="lockfiles:pytest",
    extra_env_vars=["PATH"],
    overrides={"test_git.py": {"host": ["git"]}},
)
"""
TESTS = {
    "test_hashing.py": "import enginewright.hashing\n",
    "test_errors.py": "import enginewright.errors\n",
    "test_git.py": "",
}
GIT, HASHING = "pytest tests/test_git.py", "pytest tests/test_hashing.py"
ALL = ["pytest tests/test_errors.py", GIT, HASHING]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    created = Workspace.create(tmp_path_factory.mktemp("second") / "repository")
    folder = created.root / "tests"
    folder.mkdir()
    (folder / "BUILD").write_text(BUILD)
    drawn = os.urandom(8).hex()
    for name, text in TESTS.items():
        (folder / name).write_text(f"{text}\n\ndef test_drawn():\n    assert '{drawn}'\n")
    assert created.run("test", "tests::").ran == ALL
    yield created
    created.stop()


def test_without_a_change_nothing_runs(workspace: Workspace) -> None:
    run = workspace.run("test", "tests::")
    assert (run.steps, run.ran) == (ALL, []), run.output


def test_an_edit_of_a_module_runs_the_tests_that_see_it(workspace: Workspace) -> None:
    path = "src/enginewright/hashing.py"
    with workspace.changed(path):
        file = workspace.root / path
        file.write_text(file.read_text() + "\n# A comment.\n")
        assert workspace.run("test", "tests::").ran == [HASHING]
    assert workspace.run("test", "tests::").ran == []


def program(folder: Path, name: str, says: str) -> dict[str, str]:
    """Variables with a program of that name first on PATH."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{says}\n")
    (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_another_version_of_a_program_runs_the_tests_that_use_it(
    workspace: Workspace, tmp_path: Path
) -> None:
    variables = program(tmp_path / "bin", "git", "echo git version 1")
    # The PATH itself is in the key of all three.
    assert workspace.run("test", "tests::", variables=variables).ran == ALL
    program(tmp_path / "bin", "git", "echo git version 2")
    assert workspace.run("test", "tests::", variables=variables).ran == [GIT]
    assert workspace.run("test", "tests::", variables=variables).ran == []


def test_a_program_that_is_missing_is_named_before_anything_runs(
    workspace: Workspace, tmp_path: Path
) -> None:
    variables = program(tmp_path / "bin", "git", "exit 127")
    run = workspace.run("test", "tests::", variables=variables)
    assert run.exit_code == 1
    assert run.steps == []
    assert "tests need of this host: git (Debian, Ubuntu: apt install git)\n" in run.output
