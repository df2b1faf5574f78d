"""A step that changes its inputs fails, and says last of all what it put out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from enginewright.step import ActionRequest, Result, run_step

LARGE = bytes(2 << 20)
CONTENTS = {"small.txt": b"small", "large.bin": LARGE}


@pytest.fixture
def request_path(tmp_path: Path) -> Path:
    inputs = []
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        inputs.append({"path": name, "sha256": sha256, "size": len(content)})
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"action": "a", "inputs": {"files": inputs}, "parameters": {}}))
    return path


def append(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"!")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def flip_and_set_the_time_back(path: Path) -> None:
    before = path.stat()
    flip(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("small.txt", append),
        ("small.txt", flip),
        ("small.txt", flip_and_set_the_time_back),
        ("small.txt", Path.unlink),
        ("large.bin", append),
        ("large.bin", flip),
        ("large.bin", Path.unlink),
    ],
)
def test_a_step_that_changes_an_input_fails(
    name: str,
    change: Callable[[Path], None],
    request_path: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def step(request: ActionRequest, outputs: Path) -> Result:
        (outputs / "made.txt").write_text("made")
        (file,) = (file.path for file in request.files("files") if file.path.name == name)
        change(file)
        return {}

    assert run_step(step, request_path, tmp_path / "outputs") == 70
    text = capsys.readouterr().err
    assert "the step changed one of its inputs" in text
    assert str(tmp_path / name) in text
    assert f"{len(CONTENTS[name])} bytes" in text
    assert sorted(path.name for path in (tmp_path / "outputs").iterdir()) == ["made.txt"]


def test_an_input_whose_time_alone_is_another_is_as_it_was(
    request_path: Path, tmp_path: Path
) -> None:
    def touch(request: ActionRequest, _: Path) -> Result:
        for file in request.files("files"):
            os.utime(file.path, ns=(1, 1))
        return {}

    assert run_step(touch, request_path, tmp_path / "outputs") == 0


def test_a_step_says_what_it_put_out(request_path: Path, tmp_path: Path) -> None:
    def step(_: ActionRequest, outputs: Path) -> Result:
        (outputs / "model").mkdir()
        (outputs / "model" / "model.onnx").write_bytes(b"graph")
        return {"n": 1}

    outputs = tmp_path / "outputs"
    assert run_step(step, request_path, outputs) == 0
    result = (outputs / "result.json").read_bytes()
    assert json.loads((outputs / "digests.json").read_text()) == {
        "files": {
            # sha256sum of `graph`.
            "model/model.onnx": {
                "sha256": "eef93e1d14482804277fca0172464032d1a4fdbcc338524059fa1e861454ad4d",
                "size": 5,
            },
            "result.json": {"sha256": hashlib.sha256(result).hexdigest(), "size": len(result)},
        }
    }
