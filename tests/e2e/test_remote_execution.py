"""Steps and tests on a worker of the remote execution API: the same bytes and verdicts as here."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import reapi_server
from machine import CI_CONFIG, Machine
from reapi_server import ReapiServer
from workspace import Run, Workspace

ENGINE = "engines:tiny_cached"
TEST = "tests/test_digest.py"
TEST_RUN = f"pytest {TEST}"
TEST_BUILD = """\
library_tests(tool_environment="lockfiles:pytest", environment="worker")
"""
TEST_SOURCE = """\
import os
import sys

from enginewright.hashing import FileDigest


def test_digest(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    digest = FileDigest.of(file)
    assert digest.size == 3
    assert digest.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_nothing_of_the_host_is_there():
    assert "HOME" not in os.environ
    assert not any("site-packages" in folder for folder in sys.path)
"""
ENVIRONMENTS = 'remote_environment(name="worker", fallback_environment="__local__")\n'
NAMES = '\n[environments-preview.names]\nworker = "environments:worker"\n'


@dataclass(frozen=True)
class Runs:
    local: Run
    remote: Run
    fallback: Run


def move_to_worker(root: Path) -> None:
    """Give the engine, and a test, a worker's environment, as docs/remote.md says."""
    (root / "environments").mkdir()
    (root / "environments" / "BUILD").write_text(ENVIRONMENTS)
    build = root / "engines" / "BUILD"
    name = 'name="tiny_cached",'
    build.write_text(build.read_text().replace(name, f'{name}\n    environment="worker",'))
    (root / "tests").mkdir()
    (root / "tests" / "BUILD").write_text(TEST_BUILD)
    (root / TEST).write_text(TEST_SOURCE)
    config = root / CI_CONFIG
    config.write_text(config.read_text() + NAMES)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReapiServer]:
    folder = tmp_path_factory.mktemp("reapi")
    programs = reapi_server.install(folder / "programs")
    reason = reapi_server.missing_for_execution(programs)
    if reason:
        pytest.skip(f"no sandbox for a worker: {reason}")
    server = ReapiServer(programs, folder / "server", executes=True)
    server.start()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def runs(server: ReapiServer, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("execution")
    workspace = Workspace.create(folder / "checkout")
    machine = Machine.create(workspace, folder / "machine", server.address, own_caches=False)
    local = machine.run("package", ENGINE)
    assert local.exit_code == 0, local.output
    move_to_worker(workspace.root)
    arguments = ("package", "test", ENGINE, TEST)
    remote = machine.run(
        *arguments,
        PANTS_REMOTE_EXECUTION="true",
        PANTS_REMOTE_EXECUTION_ADDRESS=server.address,
    )
    assert remote.exit_code == 0, remote.output
    return Runs(local, remote, machine.run(*arguments))


def test_every_step_ran_on_the_worker(runs: Runs) -> None:
    assert [step for step in runs.remote.steps if step != TEST_RUN] == runs.local.steps
    assert "build_engine engines:tiny_cached" in runs.remote.steps
    assert {source for _, source in runs.remote.sources} == {"ran remotely"}


def test_a_test_ran_on_the_worker(runs: Runs) -> None:
    assert (TEST_RUN, "ran remotely") in runs.remote.sources
    assert f"✓ {TEST} succeeded" in runs.remote.output, runs.remote.output


def test_the_worker_made_the_same_plan(runs: Runs) -> None:
    plan = "engines/tiny_cached/engine.plan"
    assert runs.remote.packages[plan] == runs.local.packages[plan]
    assert without_documents(runs.remote) == without_documents(runs.local)


def without_documents(run: Run) -> dict[str, str]:
    """The files of the packages but those that name the interpreter, which is the worker's own."""
    documents = ("bom.cdx.json", "provenance.json")
    return {path: sha for path, sha in run.packages.items() if not path.endswith(documents)}


def test_without_a_worker_the_steps_run_here(runs: Runs) -> None:
    assert runs.fallback.exit_code == 0, runs.fallback.output
    known = tuple((step, "local cache") for step in runs.local.steps)
    # No other has run the test here.
    assert runs.fallback.sources == tuple(sorted((*known, (TEST_RUN, "ran here"))))
    assert runs.fallback.packages == runs.local.packages
