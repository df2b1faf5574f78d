"""A full disk, of the server or of the machine that builds: nothing wrong is kept anywhere."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import reapi_server
from known_engine import (
    BUILD,
    DAEMON,
    OWN_STEPS,
    PLAN,
    KnownEngine,
    build_variant,
    stopped_afterwards,
)
from machine import Machine
from reapi_server import ReapiServer
from small_disk import SmallDisk, leave_the_mounts_of_the_host

LEFT = 300_000
"""Bytes: room for what is small, and not for a plan of 2.7 MB."""


@dataclass(frozen=True)
class Site:
    server: ReapiServer
    servers_disk: SmallDisk
    machine: Machine
    small: Machine
    """A machine whose store and checkout lie on `disk`."""
    disk: SmallDisk

    @property
    def dist(self) -> Path:
        return self.small.workspace.root / "dist"


@pytest.fixture(scope="module")
def module_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    try:
        leave_the_mounts_of_the_host()
    except OSError as error:
        pytest.skip(f"this host lets nobody mount a small disk: {error}")
    folder = tmp_path_factory.mktemp("disks")
    servers_disk = SmallDisk.mount(folder / "servers", megabytes=32)
    disk = SmallDisk.mount(folder / "small", megabytes=512)
    server = ReapiServer(reapi_server.install(folder / "programs"), servers_disk.folder / "server")
    known = KnownEngine.build(folder, server.address, **DAEMON)
    server.start()
    small = known.informed(disk.folder / "machine", server.address)
    with stopped_afterwards(known.machine, small):
        yield Site(server, servers_disk, known.machine, small, disk)
    server.remove()
    disk.unmount()
    servers_disk.unmount()


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    yield module_site
    module_site.disk.clear()
    module_site.servers_disk.clear()


def test_a_server_without_room_for_anything(site: Site) -> None:
    site.servers_disk.fill(0)
    built = build_variant(site.machine, 3)
    assert built.exit_code == 0, built.output
    assert built.ran == OWN_STEPS
    # This server then keeps results of no bytes, which say that all went well, without any files.
    results = site.server.storage / "actioncache"
    assert [path.stat().st_size for path in results.rglob("*") if path.is_file()] == [0] * len(
        OWN_STEPS
    )
    taken = build_variant(site.small, 3)
    assert taken.exit_code == 0, taken.output
    assert taken.ran == OWN_STEPS
    assert "the result of step `build_engine` is damaged: it has no result.json" in taken.output
    assert taken.packages == built.packages


def test_a_server_with_room_for_results_and_not_for_plans(site: Site) -> None:
    site.servers_disk.fill(LEFT)
    built = build_variant(site.machine, 4)
    assert built.exit_code == 0, built.output
    assert built.ran == OWN_STEPS
    taken = build_variant(site.small, 4)
    assert taken.exit_code == 0, taken.output
    assert BUILD in taken.ran
    assert taken.packages == built.packages


def test_a_server_that_has_room_again(site: Site) -> None:
    # This server takes no plans before it is started anew.
    site.server.stop()
    site.server.start()
    built = build_variant(site.machine, 5)
    assert built.ran == OWN_STEPS
    taken = build_variant(site.small, 5)
    assert (taken.ran, taken.packages) == ([], built.packages)


def test_a_full_disk_under_the_store(site: Site) -> None:
    shutil.rmtree(site.dist)
    site.disk.fill(LEFT)
    broken = build_variant(site.small, 6)
    assert broken.exit_code == 1
    assert "engines:tiny_cached: step `build_engine`: a disk is full." in broken.output
    assert f"store      {site.small.store}, " in broken.output
    assert broken.packages == {}
    site.disk.clear()
    again = build_variant(site.small, 6)
    assert again.exit_code == 0, again.output
    assert BUILD in again.ran
    assert build_variant(site.machine, 6).packages == again.packages


def test_a_full_disk_under_the_packages(site: Site) -> None:
    built = build_variant(site.small, 7)
    assert built.exit_code == 0, built.output
    shutil.rmtree(site.dist)
    site.disk.fill(LEFT)
    broken = build_variant(site.small, 7)
    assert broken.exit_code == 1
    assert "The package engines/tiny_cached needs " in broken.output
    assert f"packages  {site.dist}, " in broken.output
    assert broken.packages == {}
    site.disk.clear()
    again = build_variant(site.small, 7)
    assert again.exit_code == 0, again.output
    assert (again.ran, again.packages) == ([], built.packages)
    assert PLAN in again.packages
