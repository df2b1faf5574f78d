"""The process that runs a file of tests."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants.engine.process import ProcessCacheScope
from pants.util.frozendict import FrozenDict
from pants_enginewright.environments.tool_environment import ToolEnvironment
from pants_enginewright.library_tests import files as library_test_files
from pants_enginewright.library_tests import host
from pants_enginewright.library_tests.goal import LibraryTestFieldSet, plan_test_process
from pants_enginewright.library_tests.targets import LibraryTestTarget
from pants_enginewright.steps.files import Files

HERE = Address("tests/src", relative_file_path="test_cli.py", target_name="src")
FILES = library_test_files.TestFiles(Digest("1" * 64, 10), "tests/src/test_cli.py")
WHEELS = Files(Digest("2" * 64, 20))


class Options:
    timeouts = True
    timeout_default = timeout_maximum = None
    force = False


def plan(*, force: bool = False, **fields: Any) -> Any:
    fields = {"tool_environment": "lockfiles:tests", "source": "test_cli.py", **fields}
    field_set = LibraryTestFieldSet.create(LibraryTestTarget(fields, HERE))
    test: Any = Options()
    test.force = force
    tools = ToolEnvironment(None, "3.11.7", WHEELS)
    return plan_test_process(field_set, FILES, tools, ("-k", "size"), {"HOME": "/x"}, test)


def test_pytest_runs_as_a_step_does() -> None:
    process = plan(timeout=60)
    assert process.argv[:5] == ("/bin/sh", "launch.sh", "3.11.7", "start.py", "pytest")
    assert process.argv[-3:] == ("-k", "size", "tests/src/test_cli.py")
    assert dict(process.immutable_input_digests) == {"__wheels": WHEELS.digest}
    assert process.timeout_seconds == 60
    assert dict(process.env) == {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        # Not without it: tests then skip nothing, and hypothesis draws the same each time.
        "CI": "true",
        "HOME": "/x",
    }


def test_only_who_asks_keeps_the_power_of_root() -> None:
    assert plan(as_root=True).env["ENGINEWRIGHT_AS_ROOT"] == "1"


@pytest.mark.parametrize(
    ("force", "depends_on_devices", "scope"),
    [
        (False, False, ProcessCacheScope.SUCCESSFUL),
        (True, False, ProcessCacheScope.PER_SESSION),
        (False, True, ProcessCacheScope.PER_SESSION),
    ],
)
def test_what_devices_decide_is_not_cached(
    force: bool, depends_on_devices: bool, scope: ProcessCacheScope
) -> None:
    assert plan(force=force, depends_on_devices=depends_on_devices).cache_scope == scope


def probe(name: str, **variables: str) -> str:
    """What the script of a probe prints."""
    return subprocess.run(
        ["/bin/sh", "-c", host.PROBES[name].script],
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ).stdout.strip()


def program(folder: Path, name: str, says: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)
    return str(folder)


def test_a_program_is_known_by_its_version(tmp_path: Path) -> None:
    assert probe("git", PATH=program(tmp_path, "git", "git version 9.8.7")) == "git version 9.8.7"
    assert probe("git", PATH="/nonexistent") == ""


def test_a_python_of_pyenv_is_found_where_its_shim_is_not_active(tmp_path: Path) -> None:
    folder = tmp_path / "versions" / "3.13.5" / "bin"
    folder.mkdir(parents=True)
    program(folder, "python3.13", "3.13.5")
    variables = {"PATH": "/nonexistent", "PYENV_ROOT": str(tmp_path)}
    assert probe("python3.13", **variables) == "3.13.5"


def test_what_the_host_has_is_in_the_key() -> None:
    facts = host.HostFacts(FrozenDict({"git": "git version 9.8.7", "fuse": ""}))
    assert facts.variables == {"ENGINEWRIGHT_HOST": "git: git version 9.8.7; fuse: none"}
    assert facts.missing == ()


def test_all_that_is_missing_is_named_in_one_line() -> None:
    facts = host.HostFacts(FrozenDict({"git": "", "fuse": "", "g++": "", "python3.13": ""}))
    assert str(host.MissingOnHostError(facts.missing)) == (
        "tests need of this host: g++ (Debian, Ubuntu: apt install g++), "
        "git (Debian, Ubuntu: apt install git), "
        "python3.13 (with venv; pyenv install 3.13, or uv python install 3.13)"
    )


def test_tests_as_root_know_whether_they_are_root() -> None:
    fields = {"tool_environment": "lockfiles:tests", "source": "test_cli.py"}
    asked = LibraryTestFieldSet.create(
        LibraryTestTarget({**fields, "as_root": True, "host": ["git"]}, HERE)
    ).asks_of_host({"PATH": "/x", "PIP_CERT": "/y"})
    assert asked == host.HostFactsRequest(("git", "root"), FrozenDict({"PATH": "/x"}))
