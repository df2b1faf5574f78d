"""Read what a 64-bit ELF file needs and offers: the dynamic section, without trusting any of it.

Layout: System V ABI, chapters 4 and 5 (`Elf64_Ehdr`, `Elf64_Phdr`, `Elf64_Dyn`, `Elf64_Sym`). Every
offset is checked against the file's size and every count has a limit, so that a hostile file costs
at most a few MiB and some milliseconds.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAX_SEGMENTS = 4096
MAX_DYNAMIC = 1 << 16
"""Bytes of the dynamic section; 4096 entries."""
MAX_STRINGS = 16 << 20
MAX_SYMBOLS = 200_000
MAX_NEEDED = 1024
MAX_NAME = 4096

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ = 1, 4, 5, 6, 10
_DT_SONAME, _DT_RPATH, _DT_RUNPATH, _DT_GNU_HASH = 14, 15, 29, 0x6FFFFEF5


class ElfError(Exception):
    """The file is not an ELF file that this module reads; the text says why."""


@dataclass(frozen=True)
class ElfInfo:
    machine: int
    """`e_machine`: 62 is x86-64, 183 AArch64, 190 a CUDA cubin."""
    abi_version: int
    """`EI_ABIVERSION`; it decides how `flags` are read."""
    flags: int
    """`e_flags`, whose meaning is the machine's own."""
    soname: str
    needed: tuple[str, ...]
    run_path: str
    exports: frozenset[str]
    """Names of defined global and weak symbols."""


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


class _Reader:
    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self.size = stream, size

    def at(self, offset: int, length: int, what: str) -> bytes:
        if offset < 0 or length < 0 or offset + length > self.size:
            raise ElfError(f"{what} lies outside the file")
        self._stream.seek(offset)
        data = self._stream.read(length)
        if len(data) != length:
            raise ElfError(f"{what} is cut short")
        return data


def read_elf(path: Path) -> ElfInfo:
    """Read the file; raise `ElfError` when it is no 64-bit little-endian ELF file, or damaged."""
    try:
        with path.open("rb") as stream:
            return parse_elf(stream, path.stat().st_size)
    except OSError as error:
        raise ElfError(error.strerror or "cannot be read") from error


def parse_elf(stream: BinaryIO, size: int) -> ElfInfo:
    """Read an ELF file of `size` bytes from a seekable stream; raises `ElfError`."""
    reader = _Reader(stream, size)
    header = reader.at(0, 64, "the ELF header")
    if header[:4] != b"\x7fELF":
        raise ElfError("not an ELF file")
    if header[4] != 2 or header[5] != 1:
        raise ElfError("not a 64-bit little-endian ELF file")
    machine = struct.unpack_from("<H", header, 18)[0]
    flags = struct.unpack_from("<I", header, 48)[0]
    segments = _segments(reader, header)
    dynamic = [segment for segment in segments if segment.kind == _PT_DYNAMIC]
    if not dynamic:
        return ElfInfo(machine, header[8], flags, "", (), "", frozenset())
    entries = _dynamic(reader, dynamic[0])
    strings = _strings(reader, segments, entries)

    def first(tag: int) -> str:
        values = [value for found, value in entries if found == tag]
        return _name(strings, values[0]) if values else ""

    needed = [_name(strings, value) for tag, value in entries if tag == _DT_NEEDED]
    return ElfInfo(
        machine=machine,
        abi_version=header[8],
        flags=flags,
        soname=first(_DT_SONAME),
        needed=tuple(needed[:MAX_NEEDED]),
        run_path=first(_DT_RUNPATH) or first(_DT_RPATH),
        exports=_exports(reader, segments, dict(reversed(entries)), strings),
    )


def _segments(reader: _Reader, header: bytes) -> list[_Segment]:
    (table,) = struct.unpack_from("<Q", header, 32)
    entry_size, count = struct.unpack_from("<HH", header, 54)
    if count and entry_size != 56:
        raise ElfError(f"program headers of {entry_size} bytes, not 56")
    if count > MAX_SEGMENTS:
        raise ElfError(f"{count} program headers, more than {MAX_SEGMENTS}")
    data = reader.at(table, count * 56, "the program header table")
    segments = []
    for start in range(0, len(data), 56):
        kind, _, offset, address, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", data, start)
        segments.append(_Segment(kind, offset, address, size))
    return segments


def _dynamic(reader: _Reader, segment: _Segment) -> list[tuple[int, int]]:
    length = min(segment.size, MAX_DYNAMIC)
    data = reader.at(segment.offset, length - length % 16, "the dynamic section")
    entries = []
    for start in range(0, len(data), 16):
        tag, value = struct.unpack_from("<QQ", data, start)
        if tag == 0:
            break
        entries.append((tag, value))
    return entries


def _offset(segments: list[_Segment], address: int, what: str) -> int:
    for segment in segments:
        if segment.kind == _PT_LOAD and 0 <= address - segment.address < segment.size:
            return segment.offset + address - segment.address
    raise ElfError(f"{what} is in no loaded segment")


def _strings(reader: _Reader, segments: list[_Segment], entries: list[tuple[int, int]]) -> bytes:
    values = dict(reversed(entries))
    if _DT_STRTAB not in values or _DT_STRSZ not in values:
        return b""
    size = values[_DT_STRSZ]
    if size > MAX_STRINGS:
        raise ElfError(f"string table of {size} bytes, more than {MAX_STRINGS}")
    offset = _offset(segments, values[_DT_STRTAB], "the string table")
    return reader.at(offset, size, "the string table")


def _name(strings: bytes, offset: int) -> str:
    if offset >= len(strings):
        raise ElfError("a name lies outside the string table")
    end = strings.find(b"\0", offset, offset + MAX_NAME)
    if end < 0:
        raise ElfError("a name has no end")
    return strings[offset:end].decode("utf-8", "replace")


def _exports(
    reader: _Reader, segments: list[_Segment], values: dict[int, int], strings: bytes
) -> frozenset[str]:
    if _DT_SYMTAB not in values or not strings:
        return frozenset()
    count = min(_symbol_count(reader, segments, values), MAX_SYMBOLS)
    offset = _offset(segments, values[_DT_SYMTAB], "the symbol table")
    data = reader.at(offset, count * 24, "the symbol table")
    names = set()
    for start in range(0, len(data), 24):
        name, info, _, section = struct.unpack_from("<IBBH", data, start)
        # Bindings 1 and 2 are global and weak; section 0 means undefined.
        if section and info >> 4 in (1, 2) and name < len(strings):
            names.add(_name(strings, name))
    return frozenset(names)


def _symbol_count(reader: _Reader, segments: list[_Segment], values: dict[int, int]) -> int:
    if _DT_HASH in values:
        offset = _offset(segments, values[_DT_HASH], "the hash table")
        return int.from_bytes(reader.at(offset + 4, 4, "the hash table"), "little")
    if _DT_GNU_HASH not in values:
        return 0
    offset = _offset(segments, values[_DT_GNU_HASH], "the hash table")
    header = reader.at(offset, 16, "the hash table")
    buckets, first, bloom, _ = struct.unpack("<IIII", header)
    if buckets > MAX_SYMBOLS or bloom > MAX_SYMBOLS:
        raise ElfError("the hash table claims too many entries")
    start = offset + 16 + 8 * bloom
    table = reader.at(start, 4 * buckets, "the hash table")
    last = max(struct.unpack(f"<{buckets}I", table), default=0)
    if last < first:
        return int(first)
    # The chain of the last bucket ends at the first value whose lowest bit is set.
    chain = start + 4 * buckets + 4 * (last - first)
    for extra in range(MAX_SYMBOLS):
        if reader.at(chain + 4 * extra, 4, "the hash table")[0] & 1:
            return int(last) + extra + 1
    raise ElfError("the hash table has a chain without an end")
