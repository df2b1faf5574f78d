from __future__ import annotations

from pathlib import Path

import pytest

from enginewright.engines.check import Fault, check_files, inside
from enginewright.hashing import FileDigest


def test_each_absent_or_changed_file_is_one_fault(tmp_path: Path) -> None:
    for name in ("engine.plan", "tokenizer.json", "kernel.cubin"):
        (tmp_path / name).write_text(name)
    files = {path.name: FileDigest.of(path) for path in tmp_path.iterdir()}
    files["extra/vocab.txt"] = FileDigest("e" * 64, 1)
    (tmp_path / "tokenizer.json").write_text("other")
    (tmp_path / "engine.plan").write_text("cut")
    faults = check_files(tmp_path, files)
    assert [(fault.name, fault.fault) for fault in faults] == [
        ("engine.plan", Fault.CHANGED),
        ("extra/vocab.txt", Fault.MISSING),
        ("tokenizer.json", Fault.CHANGED),
    ]
    problem = faults[0].problem()
    assert problem.what == "a file of the package is not the one in the manifest"
    assert problem.actual.endswith("3 bytes")
    assert faults[1].problem().what == "a file of the package is missing"


def test_a_whole_package_has_no_faults(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    for name in ("config.json", "draft/config.json"):
        (tmp_path / name).write_text(name)
    names = ("config.json", "draft/config.json")
    assert check_files(tmp_path, {name: FileDigest.of(tmp_path / name) for name in names}) == []


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "a\0b", ""])
def test_names_outside_the_package_are_not_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_bytes(b"s")
    (tmp_path / "package").mkdir()
    [fault] = check_files(tmp_path / "package", {name: FileDigest("0" * 64, 1)})
    assert fault.fault == Fault.OUTSIDE


def test_a_link_out_of_the_package_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"s")
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "link").symlink_to("../secret")
    (folder / "engine.plan").write_bytes(b"plan")
    assert inside(folder, "link") is None
    assert inside(folder, "engine.plan") == folder / "engine.plan"
