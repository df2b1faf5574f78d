"""The program that starts a step: what it unpacks, what it refuses, what it leaves behind."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pants_enginewright.launch import start


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder in (start.WHEELS, start.UNPACKED):
        folder.mkdir()
    return tmp_path


def write_wheel(name: str, **files: str) -> str:
    """Write `__wheels/NAME`, and return its sha256."""
    path = start.WHEELS / name
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def left_behind(sandbox: Path) -> list[str]:
    return sorted(path.name for path in (sandbox / ".tools").iterdir())


def test_wheels_lie_side_by_side(sandbox: Path) -> None:
    wheels = {
        "one.whl": write_wheel("one.whl", **{"shared/one.py": "ONE = 1\n"}),
        "two.whl": write_wheel(
            "two.whl",
            **{
                "shared/two.py": "TWO = 2\n",
                "two-1.data/purelib/pure.py": "",
                "two-1.data/scripts/run": "#!python\n",
                "two-1.data/headers/two.h": "",
            },
        ),
    }
    folder = start.environment(wheels)
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    sources = {name for name in names if "__pycache__" not in name}
    assert sources == {"shared/one.py", "shared/two.py", "pure.py", "bin/run"}
    assert len(names - sources) == 3
    assert left_behind(sandbox) == ["environments", "lock", "wheels"]


def test_what_is_unpacked_is_not_unpacked_again(sandbox: Path) -> None:
    wheels = {"one.whl": write_wheel("one.whl", **{"one.py": ""})}
    first = start.environment(wheels)
    (sandbox / "__wheels/one.whl").unlink()
    assert start.environment(wheels) == first


def test_a_wheel_with_another_hash_is_refused(sandbox: Path) -> None:
    actual = write_wheel("one.whl", **{"one.py": ""})
    with pytest.raises(SystemExit) as caught:
        start.environment({"one.whl": "0" * 64})
    assert caught.value.code == f"one.whl is damaged: sha256 {actual}, expected {'0' * 64}"
    assert left_behind(sandbox) == ["lock"]


def test_a_full_disk_leaves_nothing_by_halves(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = {"one.whl": write_wheel("one.whl", **{"one.py": ""})}

    def link_tree(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(start, "link_tree", link_tree)
    with pytest.raises(SystemExit, match=r"cannot unpack .* No space left on device"):
        start.environment(wheels)
    assert left_behind(sandbox) == ["lock", "wheels"]


def test_only_who_holds_the_lock_touches_the_scratch_folder(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that failed once removed what another one was unpacking."""
    locked = []

    def rmtree(*_: object, **__: Any) -> None:
        with (sandbox / ".tools/lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                locked.append(True)
            else:
                locked.append(False)

    monkeypatch.setattr(start.shutil, "rmtree", rmtree)
    with pytest.raises(SystemExit):
        start.environment({"absent.whl": "0" * 64})
    assert locked
    assert all(locked)


def test_outputs_in_folders_get_names_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model/100%.txt").write_text("full")
    (tmp_path / "result.json").write_text("{}")
    start.flatten(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "model%2F100%25.txt": "full",
        "result.json": "{}",
    }
