"""Rows of docs/cases.md about building."""

from __future__ import annotations

from pathlib import Path

from enginewright.engines.comparison import compare


def fake_build(path: Path, source: bytes, address: int) -> Path:
    """A builder that names its kernels after where an object lay in memory."""
    path.write_bytes(b"plan of " + source + b", kernel " + address.to_bytes(8, "big"))
    return path


def test_row_28_a_builder_that_embeds_addresses_is_found_out(tmp_path: Path) -> None:
    first = fake_build(tmp_path / "a", b"graph", 0x7F00_0000_1000)
    second = fake_build(tmp_path / "b", b"graph", 0x7F00_0000_2000)
    (problem,) = compare({"engine.plan": first}, {"engine.plan": second})
    assert problem.what == "two builds of the same inputs differ"
    assert problem.where == "engine.plan, first difference at byte 28"
    again = fake_build(tmp_path / "c", b"graph", 0x7F00_0000_1000)
    assert compare({"engine.plan": first}, {"engine.plan": again}) == []
