"""What goes wrong on the way, with nothing wrong built and nothing lost.

The engine is built once and known to a server. Each test then breaks something for a machine that
has nothing, and expects the same package.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import reapi_server
from known_engine import BUILD, ENGINE, PLAN
from loopback_server import free_port
from machine import Machine
from reapi_server import ReapiServer
from workspace import TREE, Run, Workspace

LOCAL_CACHE_OFF = {"PANTS_LOCAL_CACHE": "false"}


@dataclass(frozen=True)
class Known:
    """The engine as it was built, and the server that knows it."""

    machine: Machine
    server: ReapiServer
    first: Run

    def fresh(self, folder: Path) -> Machine:
        """A machine with an empty store, in the same checkout."""
        return replace(self.machine, store=folder / "store")

    def blob(self) -> Path:
        """The plan in the server's storage."""
        digest = self.first.packages[PLAN]
        return self.server.storage / "cas" / "objects" / digest[:2] / digest[2:]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Known]:
    folder = tmp_path_factory.mktemp("faults")
    server = ReapiServer(reapi_server.install(folder / "programs"), folder / "server")
    server.start()
    workspace = Workspace.create(folder / "checkout")
    machine = Machine.create(workspace, folder / "first", server.address, own_caches=False)
    first = machine.run("package", ENGINE)
    assert first.exit_code == 0, first.output
    yield Known(machine, server, first)
    server.remove()


def start(machine: Machine, **variables: str) -> subprocess.Popen[str]:
    """Begin to package the engine, in a process group of its own."""
    return subprocess.Popen(
        [str(machine.workspace.root / "pants"), "package", ENGINE],
        cwd=machine.workspace.root,
        env={**machine.variables(), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    """Read what a process prints until a line has `text`."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if text in line:
            return
    raise AssertionError(f"`{text}` was never printed:\n{''.join(seen)}")


def assert_same(known: Known, run: Run) -> None:
    assert run.exit_code == 0, run.output
    assert run.packages == known.first.packages


def test_a_server_that_is_not_there(known: Known, tmp_path: Path) -> None:
    machine = replace(known.fresh(tmp_path), remote=f"grpc://127.0.0.1:{free_port()}")
    run = machine.run("package", ENGINE)
    assert_same(known, run)
    assert run.ran == known.first.steps
    assert "[WARN] Failed to read from remote cache" in run.output


def test_an_instance_that_the_server_does_not_have(known: Known, tmp_path: Path) -> None:
    run = known.fresh(tmp_path).run("package", ENGINE, PANTS_REMOTE_INSTANCE_NAME="elsewhere")
    assert_same(known, run)
    assert run.ran == known.first.steps


def test_a_blob_that_the_server_has_lost(known: Known, tmp_path: Path) -> None:
    known.blob().unlink()
    run = known.fresh(tmp_path).run("package", ENGINE)
    assert_same(known, run)
    assert run.ran == [BUILD]


def test_a_blob_with_a_flipped_byte_on_the_server(known: Known, tmp_path: Path) -> None:
    blob = known.blob()
    content = bytearray(blob.read_bytes())
    content[len(content) // 2] ^= 1
    blob.chmod(0o644)
    blob.write_bytes(content)
    machine = known.fresh(tmp_path)
    refused = machine.run("package", ENGINE)
    assert refused.exit_code == 1
    assert "Remote CAS gave wrong digest" in refused.output
    assert known.first.packages[PLAN] in refused.output
    assert PLAN not in refused.packages
    # As docs/remote.md says.
    run = machine.run("package", ENGINE, PANTS_REMOTE_CACHE_READ="false", **LOCAL_CACHE_OFF)
    blob.unlink()
    assert_same(known, run)


def test_a_server_that_dies_during_the_build(known: Known, tmp_path: Path) -> None:
    machine = replace(known.fresh(tmp_path), options={"PANTS_REMOTE_CACHE_READ": "false"})
    process = start(machine)
    wait_for(process, "Completed: export_direct")
    known.server.kill()
    process.communicate(timeout=600)
    known.server.start()
    assert process.returncode == 0
    run = machine.run("package", ENGINE)
    assert_same(known, run)
    assert run.ran == []


def test_pants_killed_in_the_middle_of_an_engine_build(known: Known, tmp_path: Path) -> None:
    machine = replace(known.fresh(tmp_path), options={"PANTS_REMOTE_CACHE_READ": "false"})
    process = start(machine)
    wait_for(process, f"Starting: {BUILD}")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    run = machine.run("package", ENGINE)
    assert_same(known, run)
    assert BUILD in run.ran
    assert "verify_checkpoint models/tiny:checkpoint" not in run.ran


def test_two_builds_at_once_in_one_checkout(known: Known, tmp_path: Path) -> None:
    options = {"PANTS_REMOTE_CACHE_READ": "false", "PANTS_CONCURRENT": "true"}
    machine = replace(known.fresh(tmp_path), options=options)
    processes = [start(machine), start(machine)]
    outputs = [process.communicate(timeout=900)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert_same(known, machine.run("package", ENGINE))


def test_a_flipped_byte_in_the_local_store_is_named(known: Known, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(known.machine.store / "immutable", store / "immutable")
    assert verify(store).returncode == 0
    (path, *_) = sorted(path for path in store.rglob("*") if path.is_file())
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    done = verify(store)
    assert done.returncode == 1
    assert str(path) in done.stdout
    assert hashlib.sha256(content).hexdigest() in done.stdout


def verify(store: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "enginewright", "verify-store", "--store", str(store)],
        env={**os.environ, "PYTHONPATH": str(TREE / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
