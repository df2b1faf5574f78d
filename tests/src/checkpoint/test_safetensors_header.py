"""The header reader on sound, broken and hostile files."""

from __future__ import annotations

import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginewright.checkpoint.safetensors_header import (
    Header,
    TensorInfo,
    parse_header,
    read_header,
)
from enginewright.errors import InputError

LFS_POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    b"size 12345\n"
)


def container(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype: str = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def message(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_header(path)
    return str(caught.value)


def test_offsets_count_from_the_start_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    header = b'{"b":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},' + (
        b'"a":{"dtype":"I64","shape":[],"data_offsets":[4,12]},"__metadata__":{"format":"pt"}}'
    )
    path.write_bytes(container(header, bytes(12)))
    begin = 8 + len(header)
    assert read_header(path) == Header(
        file_size=begin + 12,
        data_begin=begin,
        metadata={"format": "pt"},
        tensors=(
            TensorInfo("a", "I64", (), begin + 4, begin + 12),
            TensorInfo("b", "F16", (1, 2), begin, begin + 4),
        ),
    )


def test_padded_header_and_empty_tensors_are_sound(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    text = json.dumps({"empty": entry(shape=[0, 2**62], offsets=[0, 0]), "x": entry()}).encode()
    path.write_bytes(container(text + b"   ", bytes(8)))
    assert [tensor.shape for tensor in read_header(path).tensors] == [(0, 2**62), (2,)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(LFS_POINTER, "the file is a Git LFS pointer, not weights", id="lfs"),
        pytest.param(b"", "the file is truncated", id="empty"),
        pytest.param(b"\x08\x00", "the file is truncated", id="two-bytes"),
        pytest.param(
            container({"x": entry()}, bytes(8))[:20], "inside its header", id="cut-header"
        ),
        pytest.param(container({"x": entry()}, bytes(5)), "truncated or corrupt", id="cut-data"),
        pytest.param(
            (2**62).to_bytes(8, "little") + b'{"x": 1}',
            "the header is longer than the safetensors format allows",
            id="absurd-length",
        ),
        pytest.param(container(b"{x}"), "the header is not valid JSON", id="no-json"),
        pytest.param(container(b'{"\xff": 1}'), "the header is not UTF-8 text", id="no-utf8"),
        pytest.param(container(b"[1, 2]"), "`{` as the ninth byte", id="list"),
        pytest.param(b"PK\x03\x04" + bytes(100), "a zip archive", id="pytorch-zip"),
        pytest.param(b"GGUF" + bytes(100), "a GGUF file", id="gguf"),
        pytest.param(
            container({"x": entry("F33")}, bytes(8)), "actual:   'F33'", id="unknown-dtype"
        ),
        pytest.param(
            container({"x": entry(shape=[2.0])}, bytes(8)), "not a list of sizes", id="float-shape"
        ),
        pytest.param(
            container({"x": entry(shape=[-2])}, bytes(8)),
            "not a list of sizes",
            id="negative-shape",
        ),
        pytest.param(
            container({"x": entry(shape=[True])}, bytes(8)), "not a list of sizes", id="bool-shape"
        ),
        pytest.param(
            container({"x": entry(offsets=[8, 0])}, bytes(8)), "two offsets in", id="reversed"
        ),
        pytest.param(
            container({"x": entry(shape=[2], offsets=[0, 12])}, bytes(12)),
            "expected: 8 bytes for F32 [2]",
            id="size",
        ),
        pytest.param(
            container({"x": entry(shape=[2**62, 2**62, 2**62])}, bytes(8)),
            "beyond the end of the file",
            id="huge-shape",
        ),
        pytest.param(
            container({"x": entry(), "y": entry(offsets=[4, 12])}, bytes(12)),
            "a tensor overlaps the one before it",
            id="overlap",
        ),
        pytest.param(
            container({"x": entry(), "y": entry(offsets=[12, 20])}, bytes(20)),
            "a tensor leaves a hole after the one before it",
            id="hole",
        ),
        pytest.param(
            container({"x": entry()}, bytes(9)), "bytes after its last tensor", id="trailing"
        ),
        pytest.param(
            container(
                b'{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
                b'"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
                bytes(8),
            ),
            "a name occurs twice in the header",
            id="repeated",
        ),
        pytest.param(
            container({"__metadata__": {"a": 1}}), "metadata is not a map of text", id="metadata"
        ),
        pytest.param(
            container(b'{"\\ud800":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
            "not valid Unicode",
            id="surrogate",
        ),
        pytest.param(container(b'{"x": ' + b"9" * 5000 + b"}"), "not valid JSON", id="digits"),
        pytest.param(
            container(b'{"x": ' * 995 + b"1" + b"}" * 995), "nested too deeply", id="nested"
        ),
    ],
)
def test_a_broken_file_is_named_with_its_fault(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    path = tmp_path / "model.safetensors"
    text = message(path, content)
    assert expected in text
    assert str(path) in text


def test_a_real_header_above_the_limit_is_told_from_a_pointer(tmp_path: Path) -> None:
    """Public report: 132,095,296 was the length of a genuine header."""
    text = message(tmp_path / "a", (132_095_296).to_bytes(8, "little") + b'{"x"')
    assert "actual:   132095296 bytes" in text
    assert "split the weights" in text


def test_a_folder_and_a_missing_file_are_input_errors(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.safetensors"):
        with pytest.raises(InputError, match="weights cannot be read"):
            read_header(path)


def test_all_problems_at_once(tmp_path: Path) -> None:
    header = {"a": entry("F33"), "b": entry(shape=[-1]), "c": entry(offsets=[1])}
    text = message(tmp_path / "x", container(header, bytes(8)))
    assert [f"tensor `{name}`" in text for name in "abc"] == [True, True, True]


def test_thousands_of_problems_are_cut(tmp_path: Path) -> None:
    header = {f"t{number}": entry("F33") for number in range(5000)}
    path = tmp_path / "x"
    path.write_bytes(container(header))
    with pytest.raises(InputError) as caught:
        read_header(path)
    assert len(caught.value.problems) == 101
    assert caught.value.problems[-1].what == "and 4900 more problems"


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(b'{"x":[' + b"{}," * 1_000_000 + b"{}]}", id="objects"),
        pytest.param(b'{"x":' + b"[" * 3_000_000, id="depth"),
        pytest.param(
            b'{"x":{"dtype":"U8","shape":[' + b"9999999," * 400_000 + b"2]}}", id="huge-product"
        ),
    ],
)
def test_hostile_headers_cost_neither_memory_nor_time(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(container(header))
    tracemalloc.start()
    begin = time.monotonic()
    with pytest.raises(InputError):
        read_header(path)
    seconds = time.monotonic() - begin
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * len(header)
    assert seconds < 10


SOUND = container(
    {
        "__metadata__": {"format": "pt"},
        "weight": entry("F16", [2, 3], [0, 12]),
        "bias": entry("I64", [], [12, 20]),
    },
    bytes(20),
)


def reads_or_complains(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        header = read_header(path)
    except InputError as error:
        str(error).encode()  # can be printed
    else:
        assert header.file_size == len(content)
        assert all(
            header.data_begin <= tensor.begin <= tensor.end <= len(content)
            for tensor in header.tensors
        )


@settings(max_examples=300, deadline=None)
@given(content=st.binary(max_size=200))
def test_random_bytes_raise_nothing_but_input_errors(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    reads_or_complains(tmp_path_factory.getbasetemp() / "random.safetensors", content)


@settings(max_examples=300, deadline=None)
@given(
    edits=st.lists(
        st.tuples(st.integers(0, len(SOUND) - 1), st.integers(0, 255)), min_size=1, max_size=4
    ),
    length=st.integers(0, len(SOUND) + 8),
)
def test_mutated_files_raise_nothing_but_input_errors(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int]], length: int
) -> None:
    content = bytearray(SOUND)
    for position, value in edits:
        content[position] = value
    path = tmp_path_factory.getbasetemp() / "mutated.safetensors"
    reads_or_complains(path, bytes(content))
    reads_or_complains(path, bytes(content[:length]))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["F32", "F4", "BOOL"]) | json_values,
        "shape": st.lists(st.integers(-1, 2**65), max_size=3) | json_values,
        "data_offsets": st.lists(st.integers(-1, 2**65), min_size=2, max_size=2) | json_values,
    },
)


@settings(max_examples=300, deadline=None)
@given(document=st.dictionaries(st.text(max_size=4), entries | json_values, max_size=4))
def test_any_json_raises_nothing_but_input_errors(document: dict[str, Any]) -> None:
    text = json.dumps(document).encode()
    size = 8 + len(text) + 16
    try:
        header = parse_header(text, size, "x.safetensors")
    except InputError as error:
        str(error).encode()  # can be printed
    else:
        assert max(tensor.end for tensor in header.tensors) == size
