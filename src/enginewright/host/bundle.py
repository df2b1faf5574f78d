"""A bundle: one compressed tar with the raw captures of a host, to examine it elsewhere.

Members: `bundle.json` (folder listings, file statuses, NVML's answers, variables) and the text of
each file that the probe read, as `files/NUMBER`. Nothing is ever unpacked to disk.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.errors import InputError, Problem
from enginewright.host.captured import Capture
from enginewright.host.sources import FileStatus

FORMAT = 1
MAX_COMPRESSED = 64 << 20
MAX_UNPACKED = 128 << 20
MAX_MEMBERS = 4096


def write_bundle(capture: Capture, path: Path) -> None:
    """Write the capture; equal captures give equal bytes."""
    paths = sorted(capture.files)
    index = {
        "format": FORMAT,
        "files": paths,
        "directories": {key: list(names) for key, names in capture.directories.items()},
        "statuses": {
            key: [item.mode, item.kind, item.size, item.modified, item.target]
            for key, item in capture.statuses.items()
        },
        "sizes": capture.sizes,
        "variables": capture.variables,
        "python_paths": list(capture.python_paths),
        "nvml": dict(capture.nvml),
        "now": capture.now,
        "missing": capture.missing,
    }
    members = {"bundle.json": canonical_json.dumps(index).encode("utf-8", "surrogateescape")}
    members.update({f"files/{number}": capture.files[p] for number, p in enumerate(paths)})
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    path.write_bytes(gzip.compress(raw.getvalue(), mtime=0))


def read_bundle(path: Path) -> Capture:
    """Read a bundle; raise `InputError` for one that is damaged, too large or hostile."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_COMPRESSED + 1)
    except OSError as error:
        raise InputError(Problem("cannot read the bundle", str(path), actual=str(error))) from error
    if len(data) > MAX_COMPRESSED:
        raise _refused(path, "too large", f"at most {MAX_COMPRESSED} bytes", "more")
    return parse_bundle(data, path)


def parse_bundle(data: bytes, path: Path) -> Capture:
    """The capture in the bytes of a bundle; `path` names it in messages."""
    members = _members(_unpack(data, path), path)
    try:
        index = json.loads(members["bundle.json"])
    except KeyError as error:
        raise _refused(path, "not a bundle", "a member `bundle.json`", "none") from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, "bundle.json is not JSON", actual=str(error)[:200]) from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        given = index.get("format") if isinstance(index, dict) else type(index).__name__
        raise _refused(path, "unknown bundle format", f"format {FORMAT}", repr(given)[:80])
    try:
        return _capture(index, members)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise _refused(
            path, "bundle.json has a field of the wrong form", actual=str(error)[:200]
        ) from error


def _unpack(data: bytes, path: Path) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        raw = unpacker.decompress(data, MAX_UNPACKED + 1)
    except zlib.error as error:
        raise _refused(path, "not a gzip file", actual=str(error)) from error
    if len(raw) > MAX_UNPACKED:
        raise _refused(path, "unpacks to too much", f"at most {MAX_UNPACKED} bytes", "more")
    if not unpacker.eof:
        raise _refused(path, "the gzip data ends too early")
    return raw


def _members(raw: bytes, path: Path) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            for count, entry in enumerate(tar):
                if count >= MAX_MEMBERS:
                    raise _refused(path, "too many members", f"at most {MAX_MEMBERS}")
                _check_member(entry, members, path)
                stream = tar.extractfile(entry)
                data = stream.read(MAX_UNPACKED) if stream else b""
                if len(data) != entry.size:
                    raise _refused(path, f"member `{entry.name[:80]}` is cut short")
                members[entry.name] = data
    except (
        tarfile.TarError,
        EOFError,
        ValueError,
        OverflowError,
        OSError,
        RecursionError,
    ) as error:
        raise _refused(path, "not a tar file", actual=str(error)[:200]) from error
    return members


def _check_member(entry: tarfile.TarInfo, members: Mapping[str, bytes], path: Path) -> None:
    name = entry.name
    if not entry.isreg() or entry.issparse():
        raise _refused(path, f"member `{name[:80]}` is not a plain file", "plain files only")
    if name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise _refused(path, f"member `{name[:80]}` points outside the bundle", "relative names")
    if name != "bundle.json" and not name.startswith("files/"):
        raise _refused(
            path, f"member `{name[:80]}` does not belong here", "`bundle.json`, `files/`"
        )
    if name in members:
        raise _refused(path, f"member `{name[:80]}` is there twice")


def _capture(index: Mapping[str, Any], members: Mapping[str, bytes]) -> Capture:
    nvml = index["nvml"]
    return Capture(
        files={str(name): members[f"files/{n}"] for n, name in enumerate(index["files"])},
        directories={
            str(key): tuple(str(name) for name in names)
            for key, names in index["directories"].items()
        },
        statuses={str(key): _status(value) for key, value in index["statuses"].items()},
        sizes={str(key): _integer(value) for key, value in index["sizes"].items()},
        variables={
            str(key): None if value is None else str(value)
            for key, value in index["variables"].items()
        },
        python_paths=tuple(str(item) for item in index["python_paths"]),
        nvml=nvml if isinstance(nvml, dict) else {"error": "the bundle has no NVML answers"},
        now=_integer(index["now"]),
        missing={str(key): str(value) for key, value in index["missing"].items()},
        recorded=True,
    )


def _status(value: Any) -> FileStatus:
    mode, kind, size, modified, target = value
    return FileStatus(_integer(mode), str(kind), _integer(size), _integer(modified), str(target))


def _integer(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"not a number of bytes or seconds: {value!r}"[:120])
    return value


def _refused(path: Path, what: str, expected: str = "", actual: str = "") -> InputError:
    fix = "make a new one with `enginewright collect FILE` on the host"
    return InputError(Problem(f"bundle refused: {what}", str(path), expected, actual, fix))
