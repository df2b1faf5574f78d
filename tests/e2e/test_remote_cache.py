"""What one machine built, another one takes out of a remote cache: no step runs there."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import reapi_server
from machine import Machine
from reapi_server import ReapiServer
from workspace import Run, Workspace

ENGINE = "engines:tiny_cached"
STEPS = [
    "build_engine engines:tiny_cached",
    "check_graph models/tiny:cached",
    "check_weights models/tiny:cached",
    "convert_weights models/tiny:cached",
    "estimate_size engines:tiny_cached",
    "export_direct models/tiny:cached",
    "verify_checkpoint models/tiny:checkpoint",
    "write_manifest engines:tiny_cached",
    "write_provenance engines:tiny_cached",
]
# What a machine does for itself: links and settings in its own caches, seconds at most.
OWN_PROCESSES = {
    "Find CPython 3.11",
    "Write package index settings",
    "Fetch the package engines/tiny_cached",  # Does nothing but have it as its input.
}
LARGEST_WHEEL = 90_000_000
"""Bytes; the wheel of the builder's libraries alone has more."""


@dataclass(frozen=True)
class Builds:
    first: Run
    second: Run
    other: Machine


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReapiServer]:
    folder = tmp_path_factory.mktemp("reapi")
    server = ReapiServer(reapi_server.install(folder / "programs"), folder / "server")
    server.start()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def builds(server: ReapiServer, tmp_path_factory: pytest.TempPathFactory) -> Builds:
    folder = tmp_path_factory.mktemp("machines")
    workspace = Workspace.create(folder / "a")
    machine = Machine.create(workspace, folder / "of-a", server.address, own_caches=False)
    first = machine.run("package", ENGINE)
    assert first.ran == STEPS, first.output
    elsewhere = workspace.copy_to(folder / "another place" / "b")
    other = Machine.create(elsewhere, folder / "of-b", server.address)
    second = other.run("-ldebug", "package", ENGINE)
    return Builds(first, second, other)


def test_the_second_machine_runs_no_step(builds: Builds) -> None:
    assert builds.second.exit_code == 0, builds.second.output[-3000:]
    assert builds.second.sources == tuple((step, "remote cache") for step in STEPS)


def test_both_have_the_same_packages(builds: Builds) -> None:
    assert builds.second.packages == builds.first.packages
    assert "engines/tiny_cached/engine.plan" in builds.second.packages


def test_the_second_machine_starts_no_process_for_a_hit(builds: Builds) -> None:
    running = [
        line.partition("Running ")[2].partition(" under semaphore")[0]
        for line in builds.second.output.splitlines()
        if "spawned local process" in line or " under semaphore" in line
    ]
    started = builds.second.output.count("spawned local process")
    assert started == len(OWN_PROCESSES), running


def test_the_second_machine_downloads_no_wheel(builds: Builds) -> None:
    assert builds.other.largest_stored_file() < LARGEST_WHEEL
    assert builds.other.caches is not None
    assert sorted(path.name for path in builds.other.caches.iterdir()) == [
        "enginewright_downloads",
        "enginewright_python",
    ]
