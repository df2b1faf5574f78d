"""Reads the header of a safetensors file, and never its tensors.

The layout (https://huggingface.co/docs/safetensors): 8 bytes with the length of the header as a
little-endian unsigned integer, the header as a JSON object, then the bytes of all tensors without
holes. Nothing that the file says about sizes is trusted before it was compared with its real size.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright.checkpoint.file_start import LENGTH_BYTES, WRITE_AGAIN, header_length
from enginewright.dtype import BY_SAFETENSORS
from enginewright.errors import InputError, Problem, raise_if_any

MAX_PROBLEMS = 100


@dataclass(frozen=True)
class TensorInfo:
    name: str
    dtype: str
    """A key of `BY_SAFETENSORS`."""
    shape: tuple[int, ...]
    begin: int
    """Offset of the first byte, from the start of the file."""
    end: int
    """Offset after the last byte, from the start of the file."""


@dataclass(frozen=True)
class Header:
    file_size: int
    """Bytes."""
    data_begin: int
    """Where the bytes of the tensors begin, from the start of the file."""
    metadata: Mapping[str, str]
    """What the writer of the file noted (`__metadata__`)."""
    tensors: tuple[TensorInfo, ...]
    """Sorted by name."""


def read_header(path: Path) -> Header:
    """Read and check the header of the file at `path`.

    Raises `InputError` with all problems when the file is anything but a whole safetensors file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            prefix = stream.read(256)
            length = header_length(prefix, size, str(path))
            stream.seek(LENGTH_BYTES)
            text = stream.read(length)
    except OSError as error:
        raise InputError(
            Problem("weights cannot be read", str(path), "a safetensors file", error.strerror or "")
        ) from error
    return parse_header(text, size, str(path))


def parse_header(text: bytes, file_size: int, where: str) -> Header:
    """Check the JSON `text` of a header that stands in a file of `file_size` bytes.

    `where` names the file in messages. Raises `InputError` with all problems.
    """
    document, repeated = _load_json(text, where)
    problems = [
        Problem("a name occurs twice in the header", f"{where}, {quote(name)}", fix=WRITE_AGAIN)
        for name in repeated
    ]
    metadata = document.pop("__metadata__", {})
    if not _is_text_mapping(metadata):
        problems.append(
            Problem("metadata is not a map of text", f"{where}, `__metadata__`", "strings only")
        )
        metadata = {}
    data_begin = LENGTH_BYTES + len(text)
    tensors: list[TensorInfo] = []
    for name, entry in document.items():
        tensor = _read_tensor(name, entry, data_begin, file_size, where)
        if isinstance(tensor, Problem):
            problems.append(tensor)
        else:
            tensors.append(tensor)
    if not problems:
        problems.extend(_layout_problems(tensors, data_begin, file_size, where))
    if len(problems) > MAX_PROBLEMS:
        left_out = Problem(f"and {len(problems) - MAX_PROBLEMS} more problems", where)
        problems = [*problems[:MAX_PROBLEMS], left_out]
    raise_if_any(problems)
    tensors.sort(key=lambda tensor: tensor.name)
    return Header(file_size, data_begin, metadata, tuple(tensors))


def quote(name: str) -> str:
    """A tensor's name for a message: printable, and not longer than a line."""
    text = json.dumps(name)[1:-1]
    return f"tensor `{text}`" if len(text) <= 120 else f"tensor `{text[:117]}...`"


def _load_json(text: bytes, where: str) -> tuple[dict[str, Any], list[str]]:
    """The header as a dictionary, and the names that occur more than once in one object."""
    repeated: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    repeated.append(name)
                seen.add(name)
        return result

    # A tensor's entry takes about 50 bytes, has one `{` and two `[`. Far more brackets are no
    # header, and their Python objects would need many times the memory of the text.
    allowed = 1000 + len(text) // 16
    if text.count(b"{") > allowed or text.count(b"[") > allowed:
        raise InputError(Problem("the header does not describe tensors", where, fix=WRITE_AGAIN))
    try:
        document = json.loads(text.decode("utf-8"), object_pairs_hook=collect)
    except UnicodeDecodeError as error:
        problem = Problem("the header is not UTF-8 text", where, actual=str(error.reason))
        raise InputError(problem) from error
    except RecursionError as error:
        raise InputError(Problem("the header is nested too deeply", where)) from error
    except ValueError as error:  # JSONDecodeError, or an integer of thousands of digits
        problem = Problem("the header is not valid JSON", where, actual=str(error)[:200])
        raise InputError(problem) from error
    if not isinstance(document, dict):
        actual = type(document).__name__
        raise InputError(Problem("the header is not a JSON object", where, "{...}", actual))
    return document, repeated


def _is_text_mapping(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _read_tensor(
    name: str, entry: object, data_begin: int, file_size: int, where: str
) -> TensorInfo | Problem:
    here = f"{where}, {quote(name)}"
    try:
        name.encode()
    except UnicodeEncodeError:
        return Problem("the name of a tensor is not valid Unicode", here)
    if not isinstance(entry, dict):
        return Problem("the entry is not an object", here, '{"dtype", "shape", "data_offsets"}')
    dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in BY_SAFETENSORS:
        known = ", ".join(sorted(BY_SAFETENSORS))
        return Problem("unknown dtype", f"{here}, `dtype`", known, ascii(dtype)[:100])
    if not isinstance(shape, list) or not all(_is_size(extent) for extent in shape):
        return Problem(
            "the shape is not a list of sizes", f"{here}, `shape`", actual=ascii(shape)[:100]
        )
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(_is_size(offset) for offset in offsets)
        or offsets[0] > offsets[1]
    ):
        expected, actual = "two offsets in ascending order", ascii(offsets)[:100]
        return Problem("the offsets are wrong", f"{here}, `data_offsets`", expected, actual)
    begin, end = data_begin + offsets[0], data_begin + offsets[1]
    bits = _bits(shape, BY_SAFETENSORS[dtype].bits, limit=8 * file_size)
    if bits is None or bits > 8 * (file_size - data_begin) or end > file_size:
        return Problem(
            "the tensor lies beyond the end of the file, which is truncated or corrupt",
            here,
            f"bytes {begin} to {end} of the file",
            f"{file_size} bytes in the file",
            WRITE_AGAIN,
        )
    if bits != 8 * (end - begin):
        return Problem(
            "the size does not match dtype and shape",
            f"{here}, `data_offsets`",
            f"{bits // 8 if bits % 8 == 0 else bits / 8} bytes for {dtype} {shape}",
            f"{end - begin} bytes",
            WRITE_AGAIN,
        )
    return TensorInfo(name, dtype, tuple(shape), begin, end)


def _bits(shape: list[int], element_bits: int, limit: int) -> int | None:
    """Bits of a tensor, or None above `limit`: products of huge extents are never computed."""
    if 0 in shape:
        return 0
    bits = element_bits
    for extent in shape:
        bits *= extent
        if bits > limit:
            return None
    return bits


def _layout_problems(
    tensors: list[TensorInfo], data_begin: int, file_size: int, where: str
) -> list[Problem]:
    """Overlaps, holes and bytes after the last tensor."""
    problems = []
    reached, previous = data_begin, "the header"
    for tensor in sorted(tensors, key=lambda tensor: (tensor.begin, tensor.end)):
        if tensor.begin != reached:
            kind = "overlaps" if tensor.begin < reached else "leaves a hole after"
            problems.append(
                Problem(
                    f"a tensor {kind} the one before it",
                    f"{where}, {quote(tensor.name)}",
                    f"begin {reached}, where {previous} ends",
                    f"begin {tensor.begin}",
                    WRITE_AGAIN,
                )
            )
        if tensor.end >= reached:
            reached, previous = tensor.end, quote(tensor.name)
    if reached != file_size:
        problems.append(
            Problem(
                "the file has bytes after its last tensor",
                where,
                f"{reached} bytes",
                f"{file_size} bytes",
                WRITE_AGAIN,
            )
        )
    return problems
