"""The process that runs a file of tests."""

from __future__ import annotations

from typing import Any

import pytest
from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants.engine.process import ProcessCacheScope
from pants_enginewright.environments.tool_environment import ToolEnvironment
from pants_enginewright.library_tests import files as library_test_files
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
