"""Parse `/etc/ld.so.cache`, the dynamic loader's index of shared libraries.

Layout of glibc's new format (`elf/cache.c`, `sysdeps/generic/dl-cache.h`): the magic
`glibc-ld.so.cache1.1`, two 32-bit counts, then entries of 24 bytes whose key and value are offsets
of NUL-terminated names from the start of the magic.
"""

from __future__ import annotations

import struct

MAGIC = b"glibc-ld.so.cache1.1"
_HEADER = 48
_ENTRY = struct.Struct("<iIIIQ")
_MAX_NAME = 4096


def parse(data: bytes) -> dict[str, list[str]]:
    """Paths by soname, in the cache's order; an unreadable cache gives an empty mapping."""
    start = data.find(MAGIC)
    if start < 0 or len(data) < start + _HEADER:
        return {}
    (count,) = struct.unpack_from("<I", data, start + len(MAGIC))
    libraries: dict[str, list[str]] = {}
    available = (len(data) - start - _HEADER) // _ENTRY.size
    for index in range(min(count, available)):
        _, key, value, _, _ = _ENTRY.unpack_from(data, start + _HEADER + index * _ENTRY.size)
        soname, path = _name(data, start + key), _name(data, start + value)
        if soname and path.startswith("/"):
            libraries.setdefault(soname, []).append(path)
    return libraries


def _name(data: bytes, offset: int) -> str:
    end = data.find(b"\0", offset, offset + _MAX_NAME)
    return data[offset:end].decode("utf-8", "replace") if 0 <= offset < end else ""
