from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from enginewright.engines.plan_comparison import compare, first_difference

MIB = 1 << 20


@pytest.mark.parametrize(
    ("first", "second", "offset"),
    [
        (b"", b"", None),
        (b"plan", b"plan", None),
        (b"plan", b"plaN", 3),
        (b"plan", b"plan and more", 4),
        (b"x" * MIB + b"a", b"x" * MIB + b"b", MIB),
        (b"x" * (MIB + 5), b"x" * MIB, MIB),
    ],
)
def test_offset_of_the_first_difference(
    tmp_path: Path, first: bytes, second: bytes, offset: int | None
) -> None:
    (tmp_path / "first").write_bytes(first)
    (tmp_path / "second").write_bytes(second)
    assert first_difference(tmp_path / "first", tmp_path / "second") == offset


def test_a_difference_names_both_digests_and_the_offset(tmp_path: Path) -> None:
    (tmp_path / "first").write_bytes(b"abc")
    (tmp_path / "second").write_bytes(b"abd")
    [problem] = compare(tmp_path / "first", tmp_path / "second")
    assert problem.where == "first difference at byte 2"
    assert problem.expected == f"sha256 {hashlib.sha256(b'abc').hexdigest()}, 3 bytes"
    assert problem.actual == f"sha256 {hashlib.sha256(b'abd').hexdigest()}, 3 bytes"


def test_equal_files_have_no_problem(tmp_path: Path) -> None:
    (tmp_path / "first").write_bytes(b"abc")
    (tmp_path / "second").write_bytes(b"abc")
    assert compare(tmp_path / "first", tmp_path / "second") == []
