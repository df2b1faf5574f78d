"""Files of a store that are not what their names say."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from enginewright.commands.store_verification import DamagedFile, StoreReport, verify_store
from enginewright.errors import InputError


def put(store: Path, content: bytes) -> Path:
    name = hashlib.sha256(content).hexdigest()
    path = store / "immutable" / "files" / name[:2] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_an_undamaged_store(tmp_path: Path) -> None:
    put(tmp_path, b"plan")
    put(tmp_path, b"weights")
    assert verify_store(tmp_path) == StoreReport(2, 11, ())


def test_a_flipped_byte_is_named(tmp_path: Path) -> None:
    put(tmp_path, b"plan")
    path = put(tmp_path, b"weights")
    path.write_bytes(b"weightz")
    report = verify_store(tmp_path)
    assert report.damaged == (
        DamagedFile(path, path.name, hashlib.sha256(b"weightz").hexdigest(), 7),
    )
    assert str(report).startswith(f"2 files, 11 bytes, 1 damaged\ndamaged: {path}, 7 bytes")


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, b"weights")
    path.write_bytes(b"")
    assert [file.size for file in verify_store(tmp_path).damaged] == [0]


def test_files_that_pants_is_writing_are_left_out(tmp_path: Path) -> None:
    path = put(tmp_path, b"plan")
    (path.parent / f"{path.name}.tmp").write_bytes(b"half of")
    assert verify_store(tmp_path) == StoreReport(1, 4, ())


def test_another_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a store of Pants"):
        verify_store(tmp_path)
