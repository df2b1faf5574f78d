"""The live source under a root of its own, and the recording in between."""

import os

import pytest

from enginewright.host.captured import CapturedSource, RecordingSource
from enginewright.host.probe import probe
from enginewright.host.sources import READ_LIMIT, LiveSource, UnavailableError


def source(root) -> LiveSource:
    return LiveSource({"error": "none"}, 1000, str(root))


def test_reads_files_listings_and_links(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\n", encoding="utf-8")
    (tmp_path / "etc/link").symlink_to("os-release")
    live = source(tmp_path)
    assert live.read("/etc/os-release") == b"ID=debian\n"
    assert live.list_directory("/etc") == ("link", "os-release")
    assert (live.status("/etc/link").kind, live.status("/etc/link").target) == (
        "link",
        "os-release",
    )
    assert live.filesystem_size("/etc") > 0


def test_what_is_not_there_has_a_reason(tmp_path):
    live = source(tmp_path)
    for ask in (live.read, live.list_directory, live.status, live.filesystem_size):
        with pytest.raises(UnavailableError, match="no such file or directory"):
            ask("/proc/driver/nvidia/version")


def test_a_pipe_does_not_block_the_probe(tmp_path):
    os.mkfifo(tmp_path / "version")
    with pytest.raises(UnavailableError, match="not a regular file"):
        source(tmp_path).read("/version")


def test_a_long_file_is_cut(tmp_path):
    (tmp_path / "long").write_bytes(b"x" * (READ_LIMIT + 1))
    assert len(source(tmp_path).read("/long")) == READ_LIMIT


def test_a_recording_answers_like_its_source(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=arch\n", encoding="utf-8")
    recording = RecordingSource(source(tmp_path))
    live = probe(recording)
    assert live.distribution.value == "arch"
    assert probe(CapturedSource(recording.capture)) == live
