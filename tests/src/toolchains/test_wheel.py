"""Wheels: their own requirements, and the libraries in them."""

import contextlib
import hashlib
import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginewright.errors import InputError
from enginewright.toolchains.lock_file import LockedPackage
from enginewright.toolchains.markers import linux_x86_64
from enginewright.toolchains.wheel import (
    libraries_in,
    uncovered_requirements,
    unlocked_wheel,
)
from enginewright.toolchains.wheel_metadata import wheel_metadata

LINUX_X86_64 = linux_x86_64("3.11")
MACOS_ARM64 = {
    **LINUX_X86_64,
    "platform_system": "Darwin",
    "sys_platform": "darwin",
    "platform_machine": "arm64",
}
BARE = "Metadata-Version: 2.1\nName: torch\nVersion: 2.0.1\nRequires-Dist: filelock\n"
WITH_CUDA = BARE + (
    "Requires-Dist: nvidia-cublas-cu11 (==11.10.3.66) ; platform_system == 'Linux' and "
    "platform_machine == 'x86_64'\n"
    "Requires-Dist: opt-einsum>=3.3 ; extra == 'opt-einsum'\n"
)
LOCKED = {"filelock": LockedPackage("filelock", "3.12")}


def test_row_10_the_wheel_that_was_selected_requires_what_the_lock_lacks():
    (problem,) = uncovered_requirements(WITH_CUDA, LOCKED, LINUX_X86_64)
    assert "the lock lacks `nvidia-cublas-cu11`" in problem.what
    assert problem.fix == "resolve the lock on the platform that it is for"


def test_row_10_another_platforms_wheel_of_the_same_version_hides_it():
    assert list(uncovered_requirements(BARE, LOCKED, LINUX_X86_64)) == []
    assert list(uncovered_requirements(WITH_CUDA, LOCKED, MACOS_ARM64)) == []


def test_row_10_a_covering_lock_passes():
    cublas = LockedPackage("nvidia-cublas-cu11", "11.10.3.66")
    locked = {**LOCKED, "nvidia-cublas-cu11": cublas}
    assert list(uncovered_requirements(WITH_CUDA, locked, LINUX_X86_64)) == []


def test_row_10_a_lock_with_another_version_than_the_wheel_requires():
    cublas = LockedPackage("nvidia-cublas-cu11", "12.1")
    locked = {**LOCKED, "nvidia-cublas-cu11": cublas}
    (problem,) = uncovered_requirements(WITH_CUDA, locked, LINUX_X86_64)
    assert "the lock has another `nvidia-cublas-cu11`" in problem.what
    assert problem.actual == "12.1"


def test_an_extra_counts_where_the_lock_has_the_package_with_it():
    plain = {**LOCKED, "nvidia-cublas-cu11": LockedPackage("nvidia-cublas-cu11", "11.10.3.66")}
    locked = {**plain, "torch": LockedPackage("torch", "2.0.1", extras=frozenset({"opt-einsum"}))}
    (problem,) = uncovered_requirements(WITH_CUDA, locked, LINUX_X86_64)
    assert "the lock lacks `opt-einsum`" in problem.what


def test_a_requirement_on_another_python_does_not_count():
    text = BARE + "Requires-Dist: tomli ; python_version < '3.11'\n"
    assert list(uncovered_requirements(text, LOCKED, linux_x86_64("3.11"))) == []
    assert len(list(uncovered_requirements(text, LOCKED, linux_x86_64("3.10")))) == 1


def test_a_requirement_that_cannot_be_read_is_named():
    (problem,) = uncovered_requirements(BARE + "Requires-Dist: a b c\n", LOCKED, LINUX_X86_64)
    assert (problem.where, problem.actual) == ("torch, Requires-Dist", "a b c")


def test_row_10_metadata_is_read_out_of_the_wheel_itself(tmp_path):
    (tmp_path / "a.whl").write_bytes(wheel({"torch-2.0.1.dist-info/METADATA": WITH_CUDA.encode()}))
    assert wheel_metadata(tmp_path / "a.whl") == WITH_CUDA
    (tmp_path / "b.whl").write_bytes(wheel({"other": b""}))
    with pytest.raises(InputError, match="one METADATA"):
        wheel_metadata(tmp_path / "b.whl")


def wheel(files: dict[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return raw.getvalue()


PREFIXES = ("libtensorrt",)
FILES = {
    "tensorrt_rtx_libs/libtensorrt_rtx.so.1": b"engine",
    "tensorrt_rtx_libs/__init__.py": b"",
    "other/libother.so": b"no",
}
ENGINE = hashlib.sha256(b"engine").hexdigest()


def test_libraries_of_a_wheel_and_of_its_folder_are_the_same(tmp_path):
    (tmp_path / "a.whl").write_bytes(wheel(FILES))
    for name, data in FILES.items():
        (tmp_path / "installed" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "installed" / name).write_bytes(data)
    assert libraries_in(tmp_path / "a.whl", PREFIXES) == {"libtensorrt_rtx.so.1": ENGINE}
    assert libraries_in(tmp_path / "installed", PREFIXES) == {"libtensorrt_rtx.so.1": ENGINE}


def test_row_32_content_counts_and_not_the_path(tmp_path):
    for folder, data in (("a", b"engine"), ("b", b"engine"), ("c", b"swapped")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "libtensorrt_rtx.so.1").write_bytes(data)
    same, moved, swapped = (libraries_in(tmp_path / name, PREFIXES) for name in "abc")
    assert same == moved
    assert same != swapped


def test_a_wheel_that_the_lock_does_not_list(tmp_path):
    path = tmp_path / "tensorrt_rtx_cu13_libs-1.7.1.116-py2.py3-none-any.whl"
    path.write_bytes(wheel(FILES))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    name = "tensorrt-rtx-cu13-libs"
    assert list(unlocked_wheel(path, {name: LockedPackage(name, "1.7.1.116", (digest,))})) == []
    (problem,) = unlocked_wheel(path, {name: LockedPackage(name, "1.7.1.116", ("0" * 64,))})
    assert problem.what == "the lock has no hash for this wheel"
    assert problem.expected == f"{name} 1.7.1.116, sha256 {'0' * 64}"
    assert problem.actual == f"{name} 1.7.1.116, sha256 {digest}"
    (problem,) = unlocked_wheel(path, {"numpy": LockedPackage("numpy", "1", (digest,))})
    assert problem.what == "the lock does not have this package"


def test_a_file_without_the_name_of_a_wheel(tmp_path):
    (problem,) = unlocked_wheel(tmp_path / "a.whl", {})
    assert problem.what == "not the name of a wheel"


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=40), st.integers(0, 400))
def test_fuzz_a_damaged_wheel_is_read_or_refused(noise, position):
    data = bytearray(wheel(FILES))
    data[position : position + len(noise)] = noise
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder, contextlib.suppress(InputError):
        path = Path(folder) / "a.whl"
        path.write_bytes(bytes(data))
        libraries_in(path, PREFIXES)


def test_what_has_no_libraries_says_so(tmp_path):
    with pytest.raises(InputError, match="no libraries here"):
        libraries_in(tmp_path / "gone", PREFIXES)
