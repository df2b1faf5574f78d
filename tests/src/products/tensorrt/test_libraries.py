from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from enginewright.products.tensorrt import libraries
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX

MAPS = """\
55d0-55d1 r--p 00000000 08:01 11 /usr/bin/python3.11
7f10-7f20 r-xp 00001000 08:01 12 /opt/a folder/libtensorrt_rtx.so.1
7f20-7f30 r--p 00000000 08:01 12 /opt/a folder/libtensorrt_rtx.so.1
7f30-7f40 rw-p 00000000 00:00 0
7f40-7f50 r-xp 00000000 08:01 13 /usr/lib/libc.so.6
7ffd-7ffe r-xp 00000000 00:00 0 [vdso]
"""


def test_paths_of_maps_are_unique_and_may_hold_spaces() -> None:
    assert libraries.mapped_paths(MAPS) == (
        Path("/opt/a folder/libtensorrt_rtx.so.1"),
        Path("/usr/lib/libc.so.6"),
    )


def test_equal_tables_have_no_problems() -> None:
    assert libraries.compare({"liba.so": "1"}, {"liba.so": "1"}) == []


def test_each_kind_of_difference_is_one_problem() -> None:
    problems = libraries.compare(
        {"libgone.so": "aa", "libother.so": "bb", "libsame.so": "cc"},
        {"libother.so": "dd", "libsame.so": "cc", "libstray.so": "ee"},
    )
    assert [(p.where, p.what) for p in problems] == [
        ("libgone.so", "the toolchain lists a library that was not loaded"),
        ("libother.so", "a loaded library differs from the one in the toolchain"),
        ("libstray.so", "a library was loaded that the toolchain does not list"),
    ]
    assert (problems[1].expected, problems[1].actual) == ("sha256 bb", "sha256 dd")


def test_before_the_build_a_library_may_be_missing_yet() -> None:
    expected = {"liba.so": "aa", "libb.so": "bb"}
    assert libraries.compare_before_build(expected, {"liba.so": "aa"}) == []
    problems = libraries.compare_before_build(expected, {"liba.so": "cc"})
    assert [p.where for p in problems] == ["liba.so", "libb.so"]


@pytest.fixture(scope="module")
def product_folders() -> list[Path]:
    import tensorrt_rtx_bindings
    import tensorrt_rtx_libs

    return [Path(module.__file__).parent for module in (tensorrt_rtx_bindings, tensorrt_rtx_libs)]


def test_lists_the_libraries_of_the_installed_product(product_folders: list[Path]) -> None:
    TENSORRT_RTX.load()
    expected = {}
    for folder in product_folders:
        for path in folder.iterdir():
            if ".so" in path.name:
                expected[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    assert {*expected} == {
        "libtensorrt_onnxparser_rtx.so.1",
        "libtensorrt_rtx.so.1",
        "tensorrt_rtx.so",
    }
    assert libraries.list_libraries(TENSORRT_RTX) == expected


def test_version_has_four_fields_and_is_that_of_the_bindings() -> None:
    module = TENSORRT_RTX.load()
    version = libraries.loaded_version(TENSORRT_RTX)
    assert version == module.__version__
    assert len(version.split(".")) == 4
