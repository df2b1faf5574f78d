"""Bundles: the same facts elsewhere, and nothing that a hostile one can do."""

import contextlib
import gzip
import io
import json
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginewright.errors import InputError
from enginewright.host.bundle import MAX_UNPACKED, parse_bundle, read_bundle, write_bundle
from enginewright.host.captured import Capture, CapturedSource, RecordingSource
from enginewright.host.probe import probe
from enginewright.host.sources import FileStatus

CAPTURE = Capture(
    files={"/etc/os-release": b"ID=debian\n", "/proc/mounts": b"\xff\xfe"},
    directories={"/dev": ("nvidia0", "nvidiactl")},
    statuses={"/dev/nvidia0": FileStatus(0o666, "character device", 0, 7)},
    sizes={"/dev/shm": 5},
    variables={"HOME": None, "LD_LIBRARY_PATH": "/a"},
    python_paths=("/p",),
    nvml={"error": "NVML Shared Library Not Found", "code": 12},
    now=9,
    missing={"read /etc/ld.so.cache": "permission denied"},
)
INDEX = {
    "format": 1,
    "files": [],
    "directories": {},
    "statuses": {},
    "sizes": {},
    "variables": {},
    "python_paths": [],
    "nvml": {},
    "now": 0,
    "missing": {},
}


def bundle(*members: tuple[tarfile.TarInfo, bytes], index=INDEX) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        text = json.dumps(index).encode()
        for entry, data in ((tarfile.TarInfo("bundle.json"), text), *members):
            entry.size = entry.size or len(data)
            tar.addfile(entry, io.BytesIO(data) if data else None)
    return gzip.compress(raw.getvalue(), mtime=0)


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


def refusal(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse_bundle(data, Path("host.bundle"))
    return str(caught.value)


def test_a_bundle_gives_back_the_capture(tmp_path):
    write_bundle(CAPTURE, tmp_path / "b")
    assert read_bundle(tmp_path / "b") == CAPTURE


def test_a_recorded_host_is_the_same_elsewhere(tmp_path):
    recording = RecordingSource(CapturedSource(CAPTURE))
    here = probe(recording)
    write_bundle(recording.capture, tmp_path / "b")
    assert probe(CapturedSource(read_bundle(tmp_path / "b"))) == here


def test_what_an_older_version_never_asked_is_unknown_and_not_absent(tmp_path):
    write_bundle(CAPTURE, tmp_path / "b")
    host = probe(CapturedSource(read_bundle(tmp_path / "b")))
    for fact in (host.memory.total, host.visibility.cuda_devices, host.pci_gpus):
        assert "collect it anew with this version" in fact.unknown


def test_equal_captures_give_equal_bytes(tmp_path):
    for name in ("a", "b"):
        write_bundle(CAPTURE, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/x", "/etc/passwd", "files/../../x", "files/..", "other"]
)
def test_members_that_point_elsewhere_are_refused(name):
    text = refusal(bundle((member(name), b"x")))
    assert "points outside the bundle" in text or "does not belong here" in text


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_links_devices_and_folders_are_refused(kind):
    assert "is not a plain file" in refusal(bundle((member("files/0", kind, "/etc/passwd"), b"")))


def test_a_name_twice_is_refused():
    twice = bundle((member("files/0"), b"a"), (member("files/0"), b"b"))
    assert "is there twice" in refusal(twice)


def test_a_gzip_bomb_is_refused_without_unpacking_it_all():
    bomb = gzip.compress(bytes(MAX_UNPACKED + (1 << 20)), 1)
    assert "unpacks to too much" in refusal(bomb)


def test_a_member_that_claims_more_than_there_is_is_refused():
    entry = member("files/0")
    entry.size = 1 << 40
    assert "refused" in refusal(bundle((entry, b"")))


def test_too_many_members_are_refused():
    assert "too many members" in refusal(
        bundle(*((member(f"files/{n}"), b"") for n in range(4097)))
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "ends too early"),
        (b"{}", "not a gzip file"),
        (gzip.compress(b"not a tar"), "not a tar file"),
        (gzip.compress(bytes(10240)), "a member `bundle.json`"),
        (bundle(index={"format": 2}), "unknown bundle format"),
        (bundle(index=[1]), "unknown bundle format"),
        (bundle(index={**INDEX, "files": ["/a"]}), "wrong form"),
        (bundle(index={**INDEX, "now": -1}), "wrong form"),
        (bundle(index={**INDEX, "now": True}), "wrong form"),
        (bundle(index={**INDEX, "sizes": {"/dev/shm": "5"}}), "wrong form"),
        (bundle(index={**INDEX, "statuses": {"/a": [1, 2]}}), "wrong form"),
        (bundle(index={**INDEX, "directories": 3}), "wrong form"),
    ],
)
def test_damaged_bundles_say_what_is_wrong(data, reason):
    assert reason in refusal(data)


def test_json_nested_without_end_is_refused():
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        text = b"[" * 200000
        entry = tarfile.TarInfo("bundle.json")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    assert "bundle.json is not JSON" in refusal(gzip.compress(raw.getvalue()))


GOOD = bundle((member("files/0"), b"ID=debian\n"), index={**INDEX, "files": ["/etc/os-release"]})


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=600), st.integers(0, 10240), st.booleans())
def test_fuzz_any_bytes_in_a_bundle_are_refused_or_examined(noise, position, repack):
    data = bytearray(gzip.decompress(GOOD) if repack else GOOD)
    data[position : position + len(noise)] = noise
    packed = gzip.compress(bytes(data), 1) if repack else bytes(data)
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.suppress(InputError):
            probe(CapturedSource(parse_bundle(packed, Path(folder) / "b")))
        assert list(Path(folder).iterdir()) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(sorted(INDEX)), JSON), JSON)
def test_fuzz_any_json_in_the_index_is_refused_or_examined(changed, nvml):
    index = {**INDEX, "nvml": nvml, **changed, "format": 1}
    with contextlib.suppress(InputError):
        probe(CapturedSource(parse_bundle(bundle(index=index), Path("b"))))
