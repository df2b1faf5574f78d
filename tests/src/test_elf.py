"""The ELF reader on files written here, on real ones, and on damaged ones."""

import contextlib
import io
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginewright.elf import ElfError, parse_elf, read_elf


def elf(
    needed: tuple[str, ...] = (),
    soname: str = "",
    exports: tuple[str, ...] = (),
    run_path: str = "",
) -> bytes:
    """A shared library with a dynamic section and nothing else; addresses equal file offsets."""
    strings = b"\0"

    def add(text: str) -> int:
        nonlocal strings
        offset = len(strings)
        strings += text.encode() + b"\0"
        return offset

    entries = [(1, add(name)) for name in needed]
    if soname:
        entries.append((14, add(soname)))
    if run_path:
        entries.append((29, add(run_path)))
    symbols = bytes(24)
    for name in exports:
        symbols += struct.pack("<IBBHQQ", add(name), 0x12, 0, 7, 0x1000, 8)
    symbols += struct.pack("<IBBHQQ", add("undefined"), 0x12, 0, 0, 0, 0)
    count = len(symbols) // 24
    base = 64 + 2 * 56
    hash_table = struct.pack("<4I", 1, count, 0, 0) + bytes(4 * count)
    at_symbols = base + len(hash_table)
    at_strings = at_symbols + len(symbols)
    entries += [(4, base), (6, at_symbols), (5, at_strings), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    at_dynamic = at_strings + len(strings)
    size = at_dynamic + len(dynamic)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    found = struct.pack(
        "<IIQQQQQQ", 2, 6, at_dynamic, at_dynamic, at_dynamic, len(dynamic), len(dynamic), 8
    )
    return header + load + found + hash_table + symbols + strings + dynamic


def parse(data: bytes):
    return parse_elf(io.BytesIO(data), len(data))


def test_needed_soname_run_path_and_exports():
    info = parse(elf(("libcudart.so.13", "libc.so.6"), "libx.so.1", ("getCreators",), "$ORIGIN"))
    assert info.needed == ("libcudart.so.13", "libc.so.6")
    assert (info.soname, info.run_path, info.machine) == ("libx.so.1", "$ORIGIN", 62)
    assert info.exports == {"getCreators"}


def test_this_pythons_executable_is_readable():
    info = read_elf(Path(sys.executable).resolve())
    assert any(name.startswith("libc.so") for name in info.needed)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "outside the file"),
        (b"version https://git-lfs" + bytes(100), "not an ELF file"),
        (b"\x7fELF\x01\x01" + bytes(100), "not a 64-bit"),
        (b"\x7fELF\x02\x02" + bytes(100), "not a 64-bit"),
        (elf()[:200], "outside the file"),
    ],
)
def test_what_is_no_readable_elf_says_why(data, reason):
    with pytest.raises(ElfError, match=reason):
        parse(data)


def test_a_missing_file_is_an_elf_error(tmp_path):
    with pytest.raises(ElfError, match="No such file"):
        read_elf(tmp_path / "gone.so")


def changed(field: int, width: str, value: int) -> bytes:
    data = bytearray(elf(("libc.so.6",), "libx.so", ("a", "b")))
    struct.pack_into(width, data, field, value)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        changed(32, "<Q", 1 << 63),  # program headers far outside
        changed(56, "<H", 0xFFFF),  # 65535 program headers
        changed(54, "<H", 1),  # program headers of one byte
        changed(64 + 56 + 8, "<Q", (1 << 64) - 8),  # dynamic section at the end of the world
        changed(64 + 56 + 32, "<Q", (1 << 64) - 1),  # and of that size
        changed(64 + 2 * 56 + 4, "<I", 0xFFFFFFFF),  # four billion symbols
    ],
)
def test_hostile_offsets_and_counts_are_refused(data):
    with pytest.raises(ElfError):
        parse(data)


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=64), st.integers(0, 520), st.integers(0, 520))
def test_fuzz_a_damaged_elf_is_read_or_refused(noise, position, cut):
    data = bytearray(elf(("libc.so.6",), "libx.so", ("a", "b"), "$ORIGIN"))
    data[position : position + len(noise)] = noise
    with contextlib.suppress(ElfError):
        parse(bytes(data[: len(data) - cut] if cut % 3 == 0 else data))
