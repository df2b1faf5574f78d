"""Progress goes to standard error, and to a file where somebody wants one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from enginewright import progress


@pytest.fixture(autouse=True)
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    progress.descriptor.cache_clear()
    yield tmp_path
    progress.descriptor.cache_clear()


def test_without_a_folder_there_is_no_file(
    sandbox: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    progress.report("Building", "graph 1/2")
    assert capsys.readouterr().err == "Building: graph 1/2\n"
    assert list(sandbox.iterdir()) == []


def test_the_file_has_the_last_message_under_the_name_of_the_request(sandbox: Path) -> None:
    (sandbox / ".progress").mkdir()
    (sandbox / "request.json").write_bytes(b"{}\n")
    progress.report("Building", "a long message 1/2")
    progress.report("Building", "short 2/2")
    name = hashlib.sha256(b"{}\n").hexdigest()[:16]
    assert (sandbox / ".progress" / name).read_text() == "short 2/2\n"


def test_a_file_that_cannot_be_written_is_no_failure(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress.os, "open", _refuse)
    (sandbox / ".progress").mkdir()
    progress.report("Building", "graph 1/2")
    assert progress.descriptor() == -1


def test_a_full_disk_is_no_failure(sandbox: Path) -> None:
    (sandbox / ".progress").mkdir()
    (sandbox / ".progress/step").symlink_to("/dev/full")
    assert progress.descriptor() >= 0
    progress.report("Building", "graph 1/2")


def _refuse(*arguments: object) -> int:
    raise OSError(arguments)
