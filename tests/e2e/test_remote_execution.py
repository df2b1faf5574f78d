"""The steps of an engine on a worker of the remote execution API: the same bytes as here."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import reapi_server
from machine import CI_CONFIG, Machine
from reapi_server import ReapiServer
from workspace import Run, Workspace

ENGINE = "engines:tiny_cached"
ENVIRONMENTS = 'remote_environment(name="worker", fallback_environment="__local__")\n'
NAMES = '\n[environments-preview.names]\nworker = "environments:worker"\n'


@dataclass(frozen=True)
class Runs:
    local: Run
    remote: Run
    fallback: Run


def move_to_worker(root: Path) -> None:
    """Give the engine a worker's environment, as docs/remote.md says."""
    (root / "environments").mkdir()
    (root / "environments" / "BUILD").write_text(ENVIRONMENTS)
    build = root / "engines" / "BUILD"
    name = 'name="tiny_cached",'
    build.write_text(build.read_text().replace(name, f'{name}\n    environment="worker",'))
    config = root / CI_CONFIG
    config.write_text(config.read_text() + NAMES)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReapiServer]:
    reason = reapi_server.missing_for_execution()
    if reason:
        pytest.skip(f"no sandbox for a worker: {reason}")
    folder = tmp_path_factory.mktemp("reapi")
    server = ReapiServer(
        reapi_server.install(folder / "programs"), folder / "server", executes=True
    )
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
    remote = machine.run(
        "package",
        ENGINE,
        PANTS_REMOTE_EXECUTION="true",
        PANTS_REMOTE_EXECUTION_ADDRESS=server.address,
    )
    assert remote.exit_code == 0, remote.output
    return Runs(local, remote, machine.run("package", ENGINE))


def test_every_step_ran_on_the_worker(runs: Runs) -> None:
    assert runs.remote.steps == runs.local.steps
    assert "build_engine engines:tiny_cached" in runs.remote.steps
    assert {source for _, source in runs.remote.sources} == {"ran remotely"}


def test_the_worker_made_the_same_plan(runs: Runs) -> None:
    plan = "engines/tiny_cached/engine.plan"
    assert runs.remote.packages[plan] == runs.local.packages[plan]
    assert runs.remote.packages == runs.local.packages


def test_without_a_worker_the_steps_run_here(runs: Runs) -> None:
    assert runs.fallback.exit_code == 0, runs.fallback.output
    assert runs.fallback.sources == tuple((step, "local cache") for step in runs.local.steps)
    assert runs.fallback.packages == runs.local.packages
