"""The first bytes of a safetensors file: other formats are recognised, the length is doubted."""

from __future__ import annotations

from enginewright.errors import InputError, Problem

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000
"""The format's own limit; every reader refuses longer headers."""
LFS_PREFIX = b"version https://git-lfs"
WRITE_AGAIN = "download the file again, or write it again with the safetensors library"

FOREIGN_FORMATS = (
    (b"PK\x03\x04", "a zip archive, as PyTorch's own `.bin` and `.pt` files are"),
    (b"GGUF", "a GGUF file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"<!DOCTYPE", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"\x80\x02", "a Python pickle"),
)


def header_length(prefix: bytes, size: int, where: str) -> int:
    """The length of the header in bytes, once it is plausible for a file of `size` bytes.

    `prefix` are the first bytes of the file `where`. Raises `InputError`.
    """
    _refuse_other_formats(prefix, size, where)
    if len(prefix) < LENGTH_BYTES:
        raise InputError(
            Problem(
                "the file is truncated",
                where,
                f"at least {LENGTH_BYTES} bytes",
                f"{size} bytes",
                WRITE_AGAIN,
            )
        )
    length = int.from_bytes(prefix[:LENGTH_BYTES], "little")
    if length > MAX_HEADER_BYTES and prefix[LENGTH_BYTES : LENGTH_BYTES + 1] == b"{":
        raise InputError(
            Problem(
                "the header is longer than the safetensors format allows",
                where,
                f"at most {MAX_HEADER_BYTES} bytes",
                f"{length} bytes",
                "split the weights into several files with an index",
            )
        )
    if prefix[LENGTH_BYTES : LENGTH_BYTES + 1] not in (b"{", b""):
        raise InputError(
            Problem(
                "not a safetensors file",
                where,
                "`{` as the ninth byte, where the JSON header begins",
                f"byte 0x{prefix[LENGTH_BYTES]:02x}; the length would be {length}",
                "check that the file is what it should be; it may be another format",
            )
        )
    if LENGTH_BYTES + length > size:
        raise InputError(
            Problem(
                "the file ends inside its header, it is truncated",
                where,
                f"a header of {length} bytes",
                f"{size - LENGTH_BYTES} bytes after the length",
                WRITE_AGAIN,
            )
        )
    return length


def _refuse_other_formats(prefix: bytes, size: int, where: str) -> None:
    if prefix.startswith(LFS_PREFIX):
        raise InputError(
            Problem(
                "the file is a Git LFS pointer, not weights",
                where,
                "a safetensors file",
                f"{size} bytes of text that name the real file",
                "run `git lfs pull`, or download the file itself",
            )
        )
    for magic, description in FOREIGN_FORMATS:
        if prefix.startswith(magic):
            fix = "convert the weights with the safetensors library"
            raise InputError(
                Problem("not a safetensors file", where, "a safetensors file", description, fix)
            )
