"""An engine of an ONNX file is compared with the file itself, as steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper
from step_process import write_request

from enginewright.actions import judge_accuracy, measure_accuracy
from enginewright.step import run_step

TEXT = """
<ir_version: 10, opset_import: ["" : 21]>
graph (float[batch, width] {x}, int64[batch] {places}) => (float[batch, 3] {y}, int64[batch] {best})
{{
  sums = ReduceSum<keepdims=1>({x}, axis)
  rows = Gather(table, {places})
  {y} = Mul(sums, rows)
  {best} = ArgMax<axis=1, keepdims=0>({y})
}}
"""
TABLE = np.array([[1, 2, 3], [4, 6, 5]], np.float32)
NAMES = {"x": "images", "y": "scores"}


def save(path: Path, table: np.ndarray, **names: str) -> Path:
    names = {name: names.get(name, name) for name in ("x", "places", "y", "best")}
    model = onnx.parser.parse_model(TEXT.format(**names))
    model.graph.initializer.append(numpy_helper.from_array(table, "table"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([1]), "axis"))
    path.parent.mkdir(exist_ok=True)
    onnx.save(model, path)
    return path


def measure(folder: Path, table: np.ndarray, dataset: Path | None = None, **wanted: Any) -> int:
    files = {
        "model": [save(folder / "engine" / "model.onnx", table, **NAMES)],
        "original": [save(folder / "original" / "given.onnx", TABLE)],
        "serving": [],
        **({} if dataset is None else {"dataset": [dataset]}),
    }
    parameters = {"task": "raw-tensors", "names": NAMES, **wanted}
    request = write_request(folder, "x", files, parameters)
    return run_step(measure_accuracy.run, request, folder / "outputs")


def measured(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "outputs" / "measurements.json").read_text()))


def judge(folder: Path, **bounds: float) -> int:
    (folder / "judge").mkdir()
    files = {"measurements": [folder / "outputs" / "measurements.json"]}
    request = write_request(folder / "judge", "x", files, bounds)
    return run_step(judge_accuracy.run, request, folder / "judge" / "outputs")


SIZES = ({"batch": 1, "width": 2}, {"batch": 5, "width": 4})


def test_every_output_is_compared_at_every_size(tmp_path: Path) -> None:
    assert measure(tmp_path, TABLE, shapes=SIZES) == 0
    numbers = measured(tmp_path)
    assert [(run["name"], run["rows"]) for run in numbers["runs"]] == [
        ("scores of 1x2, 1", 1),
        ("best of 1x2, 1", 1),
        ("scores of 5x4, 5", 5),
        ("best of 5x4, 5", 1),
    ]
    assert numbers["total"]["max_absolute_error"] == 0.0
    assert numbers["coverage"]["sample"] == "calls with seeded numbers"
    assert numbers["reference"]["library"] == "ONNX Runtime"
    assert numbers["notes"] == [
        "whole numbers that were fed are 0 or 1: a `tensor_dataset` has those of your model"
    ]
    assert judge(tmp_path, min_worst_cosine_similarity=0.999999) == 0


def test_another_weight_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        measure(tmp_path, TABLE + np.array([[0, 0, 0], [0, 0, 3]], np.float32), shapes=SIZES) == 0
    )
    assert judge(tmp_path) == 1
    assert "`max_relative_error` missed its bound" in capsys.readouterr().err


def test_arrays_of_a_dataset_are_fed_call_by_call(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    dataset = tmp_path / "calls.npz"
    np.savez(
        dataset,
        images=random.standard_normal((4, 2, 6)).astype(np.float32),
        places=np.array([[0, 1], [1, 1], [0, 0], [1, 0]]),
    )
    assert measure(tmp_path, TABLE, dataset, max_samples=3) == 0
    numbers = measured(tmp_path)
    assert [(run["name"], run["rows"]) for run in numbers["runs"]] == [
        ("scores of 2x6, 2", 6),
        ("best of 2x6, 2", 3),
    ]
    assert numbers["coverage"]["not_reached"] == ["1 of 4 calls of the dataset: `max_samples`"]


def test_a_dataset_that_does_not_fit_is_refused_with_all_its_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = tmp_path / "calls.npz"
    np.savez(dataset, images=np.zeros((2, 6)), other=np.zeros(1))
    assert measure(tmp_path, TABLE, dataset) == 1
    errors = capsys.readouterr().err
    assert "an array has another dtype" in errors
    assert "no array for an input" in errors
    assert "no input of the engine has this name" in errors


def test_pickled_objects_are_no_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = tmp_path / "calls.npz"
    np.savez(dataset, images=np.array([{}, None], object))
    assert measure(tmp_path, TABLE, dataset) == 1
    assert "not a file of arrays" in capsys.readouterr().err


def test_sizes_must_be_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(tmp_path, TABLE) == 1
    assert "a size for each dynamic axis: batch, width" in capsys.readouterr().err
    assert measure(tmp_path, TABLE, shapes=[{"batch": 2, "depth": 3}]) == 1
    errors = capsys.readouterr().err
    assert "axis `width` has no size" in errors
    assert "no input has an axis `depth`" in errors


def test_an_engine_of_another_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(tmp_path, TABLE, shapes=SIZES, names={}) == 1
    assert "engine and file have different inputs" in capsys.readouterr().err
