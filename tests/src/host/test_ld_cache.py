"""The loader's cache, written here byte by byte in glibc's layout."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from enginewright.host.ld_cache import MAGIC, parse


def ld_cache(pairs: list[tuple[str, str]], prefix: bytes = b"") -> bytes:
    names, offsets = b"", []
    start = 48 + 24 * len(pairs)
    for soname, path in pairs:
        offsets.append((start + len(names), start + len(names) + len(soname) + 1))
        names += soname.encode() + b"\0" + path.encode() + b"\0"
    header = MAGIC + struct.pack("<II", len(pairs), len(names)) + bytes(20)
    entries = b"".join(struct.pack("<iIIIQ", 0x303, key, value, 0, 0) for key, value in offsets)
    return prefix + header + entries + names


def test_sonames_and_paths_in_order():
    data = ld_cache([("libcuda.so.1", "/b/libcuda.so.1"), ("libcuda.so.1", "/a/libcuda.so.1")])
    assert parse(data) == {"libcuda.so.1": ["/b/libcuda.so.1", "/a/libcuda.so.1"]}


def test_the_old_format_in_front_is_skipped():
    data = ld_cache([("libm.so.6", "/lib/libm.so.6")], prefix=b"ld.so-1.7.0\0" + bytes(100))
    assert parse(data) == {"libm.so.6": ["/lib/libm.so.6"]}


def test_a_count_larger_than_the_file_is_cut():
    data = bytearray(ld_cache([("libm.so.6", "/lib/libm.so.6")]))
    struct.pack_into("<I", data, len(MAGIC), 0xFFFFFFFF)
    assert parse(bytes(data))["libm.so.6"] == ["/lib/libm.so.6"]


def test_names_outside_the_file_are_left_out():
    data = bytearray(ld_cache([("libm.so.6", "/lib/libm.so.6")]))
    struct.pack_into("<I", data, 48 + 4, 0xFFFFFF00)
    assert parse(bytes(data)) == {}


@given(st.binary(max_size=400))
def test_any_bytes_after_the_magic_give_a_mapping(data):
    assert isinstance(parse(MAGIC + data), dict)
