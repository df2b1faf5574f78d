"""`run DIR --tensors FILE.npz`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from engine_document import onnx_document

from enginewright import canonical_json
from enginewright.hashing import FileDigest
from enginewright.run.__main__ import main

TEXT = """
<ir_version: 10, opset_import: ["" : 21]>
graph (float[n] x) => (float[n] half, bool[n] positive)
{
  two = Constant<value_float=2.0>()
  zero = Constant<value_float=0.0>()
  half = Div(x, two)
  positive = Greater(x, zero)
}
"""


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    folder = tmp_path / "engine"
    folder.mkdir()
    onnx.save(onnx.parser.parse_model(TEXT), folder / "model.onnx")
    tensors = [
        {"name": "x", "mode": "input", "dtype": "float32", "shape": ["n"]},
        {"name": "half", "mode": "output", "dtype": "float32", "shape": ["n"]},
        {"name": "positive", "mode": "output", "dtype": "bool", "shape": ["n"]},
    ]
    files = {"model.onnx": vars(FileDigest.of(folder / "model.onnx"))}
    document = onnx_document(task="raw-tensors", tensors=tensors, files=files)
    canonical_json.write(folder / "engine.json", document)
    return folder


def test_one_object_a_call(
    engine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "x.npz", x=np.array([[1, -3], [np.nan, 0]], np.float32))
    assert main([str(engine), "--tensors", str(tmp_path / "x.npz")]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {
        "half": {"dtype": "float32", "shape": [2], "values": [0.5, -1.5]},
        "positive": {"dtype": "bool", "shape": [2], "values": [True, False]},
    }
    assert second["half"]["values"] == ["nan", 0.0]


def test_arrays_go_to_a_file(
    engine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "x.npz", x=np.array([1, -3], np.float32))
    given = [str(engine), "--tensors", str(tmp_path / "x.npz"), "--output", str(tmp_path / "y.npz")]
    assert main(given) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["half"] == {"dtype": "float32", "shape": [2]}
    with np.load(tmp_path / "y.npz") as arrays:
        assert arrays["half"].tolist() == [0.5, -1.5]


def test_arrays_that_do_not_fit_are_refused(
    engine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 2, 2), np.float32))
    assert main([str(engine), "--tensors", str(tmp_path / "x.npz")]) == 1
    assert "an array has another number of axes" in capsys.readouterr().err
    assert main([str(engine), "--output", str(tmp_path / "y.npz")]) == 1
    assert "--tensors FILE.npz" in capsys.readouterr().err
