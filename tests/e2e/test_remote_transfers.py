"""A server that dies, loses connections or is slow while a plan is on its way to it or from it.

One machine builds a new engine for each test, another one takes it out of the remote cache. Both
reach the server through proxies. A plan has 2.7 MB, several messages of 1 MB each.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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
from proxy import DOWNLOAD, UPLOAD, Cut, Proxy
from reapi_server import ReapiServer
from workspace import Run

MIDDLE = 1_500_000
PLAN_SIZE = 2_000_000
"""Bytes; a plan has more, and nothing else that these machines exchange."""
# Blobs larger than this go as a stream, not within one message.
STREAMED = {"PANTS_REMOTE_STORE_BATCH_API_SIZE_LIMIT": "1000000"}


@dataclass(frozen=True)
class Site:
    server: ReapiServer
    builder: Machine
    builders_way: Proxy
    other: Machine
    others_way: Proxy

    def has(self, plan: str) -> bool:
        """Whether the server has the whole plan."""
        return (self.server.storage / "cas" / "objects" / plan[:2] / plan[2:]).is_file()


@pytest.fixture(scope="module")
def module_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("transfers")
    server = ReapiServer(reapi_server.install(folder / "programs"), folder / "server")
    server.start()
    ways = Proxy(server.port), Proxy(server.port)
    known = KnownEngine.build(folder, ways[0].address, **DAEMON, **STREAMED)
    other = known.informed(folder / "other", ways[1].address)
    with stopped_afterwards(known.machine, other):
        yield Site(server, known.machine, ways[0], other, ways[1])
    for way in ways:
        way.stop()
    server.remove()


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    """Every test begins and ends with a server, and with ways that are free."""
    yield module_site
    for way in (module_site.builders_way, module_site.others_way):
        way.cut, way.delay, way.silent = None, 0.0, False
    if module_site.server.process is None:
        module_site.server.start()


def assert_built(run: Run) -> None:
    assert run.exit_code == 0, run.output
    assert run.ran == OWN_STEPS
    assert PLAN in run.packages


def test_a_server_that_is_killed_in_the_middle_of_an_upload(site: Site) -> None:
    cut = Cut(UPLOAD, False, MIDDLE, PLAN_SIZE, then=site.server.kill)
    site.builders_way.cut = cut
    built = build_variant(site.builder, 3)
    assert_built(built)
    assert cut.done == built.packages[PLAN]
    assert "[WARN] Failed to write to remote cache" in built.output
    site.server.start()
    assert not site.has(cut.done)
    taken = build_variant(site.other, 3)
    assert taken.exit_code == 0, taken.output
    assert BUILD in taken.ran
    assert taken.packages == built.packages


def test_a_connection_that_breaks_in_the_middle_of_an_upload(site: Site) -> None:
    cut = Cut(UPLOAD, False, MIDDLE, PLAN_SIZE)
    site.builders_way.cut = cut
    built = build_variant(site.builder, 4)
    assert_built(built)
    assert cut.done == built.packages[PLAN]
    assert site.has(cut.done)
    taken = build_variant(site.other, 4)
    assert taken.exit_code == 0, taken.output
    assert (taken.ran, taken.packages) == ([], built.packages)


def test_a_server_that_is_killed_in_the_middle_of_a_download(site: Site) -> None:
    built = build_variant(site.builder, 5)
    assert_built(built)
    cut = Cut(DOWNLOAD, True, MIDDLE, PLAN_SIZE, then=site.server.kill)
    site.others_way.cut = cut
    broken = build_variant(site.other, 5)
    assert cut.done == built.packages[PLAN]
    assert broken.exit_code == 1
    assert "engines/tiny_cached could not be brought here" in broken.output
    assert broken.packages == {}
    site.server.start()
    taken = build_variant(site.other, 5)
    assert taken.exit_code == 0, taken.output
    assert (taken.ran, taken.packages) == ([], built.packages)


def test_a_connection_that_breaks_in_the_middle_of_a_download(site: Site) -> None:
    built = build_variant(site.builder, 6)
    assert_built(built)
    cut = Cut(DOWNLOAD, True, MIDDLE, PLAN_SIZE)
    site.others_way.cut = cut
    taken = build_variant(site.other, 6)
    assert cut.done == built.packages[PLAN]
    assert taken.exit_code == 0, taken.output
    assert (taken.ran, taken.packages) == ([], built.packages)


def test_a_slow_server_is_waited_for(site: Site) -> None:
    built = build_variant(site.builder, 7)
    assert_built(built)
    site.others_way.delay = 0.05  # A third of a megabyte a second.
    before = site.others_way.passed
    taken = build_variant(site.other, 7)
    assert site.others_way.passed - before > PLAN_SIZE
    assert taken.exit_code == 0, taken.output
    assert (taken.ran, taken.packages) == ([], built.packages)


def test_a_server_that_never_answers_is_given_up(site: Site) -> None:
    site.builders_way.silent = True
    built = build_variant(
        site.builder,
        8,
        PANTS_PANTSD="false",
        PANTS_REMOTE_CACHE_RPC_TIMEOUT_MILLIS="1000",
        PANTS_REMOTE_STORE_RPC_TIMEOUT_MILLIS="1000",
    )
    assert_built(built)
    assert (
        'Failed to read from remote cache (1 occurrences so far): Unknown: "request timed out"'
        in (built.output)
    )
    site.builders_way.silent = False
    taken = build_variant(site.other, 8)
    assert taken.exit_code == 0, taken.output
    assert BUILD in taken.ran
    assert taken.packages == built.packages
