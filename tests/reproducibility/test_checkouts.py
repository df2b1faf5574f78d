"""The engines of this repository, from nothing, at two places: the same bytes again.

Two checkouts build them with stores and named caches of their own that start empty: wheels are
downloaded and unpacked, and every step runs. A third takes them from the caches that this host has,
or fills those.
"""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from workspace import COPIED, TREE, Run, Workspace, copy

NAMES = ("qwen3_fp16", "qwen3_kv_fp16", "minilm_fp16")
ENGINES = tuple(f"engines:{name}" for name in NAMES)
PLANS = tuple(f"engines/{name}/engine.plan" for name in NAMES)


def checkout(root: Path) -> Workspace:
    root.mkdir(parents=True)
    for name in (*COPIED, "csrc", "models", "engines"):
        copy(TREE / name, root / name)
    return Workspace(root)


def from_nothing(folder: Path, **variables: str) -> dict[str, str]:
    """An environment whose store and named caches are empty folders."""
    return {
        **os.environ,
        "PANTS_LOCAL_STORE_DIR": str(folder / "store"),
        "PANTS_NAMED_CACHES_DIR": str(folder / "named_caches"),
        **variables,
    }


def build(workspace: Workspace, variables: Mapping[str, str] | None = None) -> Run:
    run = workspace.run("--no-pantsd", "package", *ENGINES, variables=variables)
    assert run.exit_code == 0, run.output
    return run


@dataclass(frozen=True)
class Builds:
    one: Run
    two: Run
    cached: Run
    roots: tuple[Path, ...]


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    folder = tmp_path_factory.mktemp("checkouts")
    one = checkout(folder / "one")
    two = checkout(folder / "another place" / "two")
    three = checkout(folder / "three")
    environment = from_nothing(
        folder / "caches of two",
        USER="somebody",
        LANG="C",
        TZ="Asia/Tokyo",
        PYTHONHASHSEED="7",
        OMP_NUM_THREADS="1",
    )
    return Builds(
        build(one, from_nothing(folder / "caches of one")),
        build(two, environment),
        build(three),
        (one.root, two.root, three.root),
    )


def test_every_step_ran_in_both_checkouts(builds: Builds) -> None:
    assert builds.one.ran == builds.one.steps
    assert builds.two.ran == builds.one.steps
    for engine in ENGINES:
        assert f"build_engine {engine}" in builds.one.ran


def test_plans_are_equal(builds: Builds) -> None:
    for plan in PLANS:
        assert builds.two.packages[plan] == builds.one.packages[plan]
        assert builds.cached.packages[plan] == builds.one.packages[plan]
    assert len({builds.one.packages[plan] for plan in PLANS}) == 3


def test_whole_packages_are_equal(builds: Builds) -> None:
    assert builds.two.packages == builds.one.packages
    assert builds.cached.packages == builds.one.packages


def test_packages_name_no_place_and_no_host(builds: Builds) -> None:
    root = builds.roots[0]
    host = re.compile(rb"\b" + re.escape(socket.gethostname().encode()) + rb"\b")
    for name in builds.one.packages:
        content = (root / "dist" / name).read_bytes()
        assert str(root).encode() not in content, name
        assert str(TREE).encode() not in content, name
        # A short name may be in a plan, or be a word of a vocabulary, by chance.
        if Path(name).name in ("engine.json", "README.md"):
            assert host.search(content) is None, name
