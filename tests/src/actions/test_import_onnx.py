"""An ONNX file that exists is taken over: names, axes, weights, and what it may not be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto, numpy_helper
from step_process import write_request

from enginewright.actions import check_graph, check_weights, import_onnx
from enginewright.step import run_step

WEIGHTS = np.random.default_rng(1).standard_normal((4, 100)).astype(np.float32)
TEXT = """
<ir_version: 8, opset_import: ["" : 13]>
graph (float[N, 4] in) => (float[N, M] out)
{
  dims = Constant<value_ints=[-1, 100]>()
  product = MatMul(in, weights)
  flat = Reshape(product, dims)
  out = Relu(flat)
}
"""


def model(text: str = TEXT, **weights: np.ndarray) -> ModelProto:
    proto = onnx.parser.parse_model(text)
    for name, array in (weights or {"weights": WEIGHTS}).items():
        proto.graph.initializer.append(numpy_helper.from_array(array, name))
    return proto


def take_over(folder: Path, proto: ModelProto, *others: str, **parameters: Any) -> int:
    folder.mkdir(exist_ok=True)
    if not others:
        onnx.save(proto, folder / "given.onnx")
    files = {"file": ["given.onnx", *others]}
    request = write_request(folder, "x", files, {"names": {}, "axes": {}, **parameters})
    return run_step(import_onnx.run, request, folder / "outputs")


def record(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "outputs" / "onnx.json").read_text()))


def checks(folder: Path) -> list[int]:
    """Codes of the two steps that check every model."""
    made = folder / "outputs"
    result = json.loads((made / "result.json").read_text())
    graph = {"model": [made / "model" / "model.onnx"], "record": [made / "onnx.json"]}
    parameters = {"dynamic_axes": [], "dtype": result["dtype"], "reader": None, "length": None}
    weights = {**graph, "data": [made / "model" / "model.onnx.data"]}
    del weights["record"]
    codes = []
    for name, action, inputs, given in (
        ("graph", check_graph, graph, parameters),
        ("weights", check_weights, weights, {"dtype": result["dtype"]}),
    ):
        (folder / name).mkdir()
        request = write_request(folder / name, "x", inputs, given)
        codes.append(run_step(action.run, request, folder / name / "outputs"))
    return codes


def run(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {name: array})[0])


def test_names_and_axes_change_and_the_numbers_do_not(tmp_path: Path) -> None:
    folder = tmp_path / "step"
    axes = {"images": ["batch", 4]}
    assert take_over(folder, model(), names={"in": "images", "out": "y"}, axes=axes) == 0
    assert [(t["name"], t["shape"]) for t in record(folder)["inputs"]] == [("images", ["batch", 4])]
    # The axis of the output had the name of the input's.
    assert [(t["name"], t["shape"]) for t in record(folder)["outputs"]] == [("y", ["batch", "M"])]
    assert checks(folder) == [0, 0]
    array = np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32)
    before = run(folder / "given.onnx", "in", array)
    after = run(folder / "outputs" / "model" / "model.onnx", "images", array)
    assert np.array_equal(before, after)


def test_an_axis_can_be_fixed_and_formulas_are_no_names(tmp_path: Path) -> None:
    proto = model()
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "floor(N/2) + 1"
    assert take_over(tmp_path / "step", proto, axes={"in": [8, 4]}) == 0
    assert record(tmp_path / "step")["outputs"][0]["shape"] == [8, "out:1"]


def test_sizes_below_zero_are_dynamic_axes(tmp_path: Path) -> None:
    proto = model()
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert take_over(tmp_path / "step", proto) == 0
    assert record(tmp_path / "step")["inputs"][0]["shape"] == ["in:0", 4]


def test_external_data_constants_and_replaceable_weights_become_initializers(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "step"
    folder.mkdir()
    text = TEXT.replace("float[N, 4] in", "float[N, 4] in, float[4, 100] weights")
    text = text.replace("ir_version: 8", "ir_version: 3")
    proto = model(text)
    bias = numpy_helper.from_array(np.ones(100, np.float32), "bias_value")
    proto.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["bias"], value=bias))
    proto.graph.node[-1].op_type, _ = "Add", proto.graph.node[-1].input.append("bias")
    onnx.save(proto, folder / "given.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0)  # fmt: skip
    assert take_over(folder, proto, "w.bin") == 0
    assert record(folder)["external_data"] == ["model.onnx.data"]
    made = onnx.load(folder / "outputs" / "model" / "model.onnx")
    assert [value.name for value in made.graph.input] == ["in"]
    assert sorted(tensor.name for tensor in made.graph.initializer) == ["bias", "weights"]
    assert checks(folder) == [0, 0]
    array = np.ones((2, 4), np.float32)
    after = run(folder / "outputs" / "model" / "model.onnx", "in", array)
    assert np.array_equal(after, run(folder / "given.onnx", "in", array))


def test_ranks_that_the_file_stated_or_that_follow_are_kept(tmp_path: Path) -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 13]>
    graph (float[N, 2, 3] in) => (float[A, B] out)
    {
      shape = Shape(in)
      zero = Constant<value_ints=[0]>()
      first = Gather(shape, zero)
      rest = Constant<value_ints=[6]>()
      target = Concat<axis=0>(first, rest)
      flat = Reshape(in, target)
      out = MatMul(flat, weights)
    }
    """
    folder = tmp_path / "step"
    assert take_over(folder, model(text, weights=np.ones((6, 5), np.float32))) == 0
    (folder / "outputs" / "model" / "model.onnx.data").write_bytes(b"")
    assert checks(folder)[0] == 0


def test_what_nothing_reads_is_left_out_and_said(tmp_path: Path) -> None:
    proto = model(TEXT, weights=WEIGHTS, lost=WEIGHTS)
    assert take_over(tmp_path / "step", proto) == 0
    result = json.loads((tmp_path / "step" / "outputs" / "result.json").read_text())
    assert result["warnings"] == ["left out, for no node reads it: lost"]
    assert checks(tmp_path / "step") == [0, 0]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"names": {"x": "y"}}, "`names` names a tensor that is no input or output of the graph"),
        ({"names": {"in": "product"}}, "a new name is taken by another tensor of the graph"),
        ({"names": {"in": "out"}}, "a new name is taken by another tensor of the graph"),
        ({"axes": {"x": [1]}}, "field `axes` names a tensor that the graph does not have"),
        ({"axes": {"in": ["n"]}}, "field `axes` has another number of axes"),
        ({"axes": {"in": ["n", 5]}}, "an axis of the graph has a size, which cannot be changed"),
        ({"axes": {"in": ["a b", 4]}}, "not a name for an axis"),
    ],
)
def test_changes_that_cannot_be_made(
    parameters: dict[str, Any], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert take_over(tmp_path / "step", model(), **parameters) == 1
    assert expected in capsys.readouterr().err


def test_files_that_are_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "step"
    folder.mkdir()
    (folder / "given.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    (folder / "other").write_bytes(b"")
    assert take_over(folder, model(), "other") == 1
    assert "the file is a Git LFS pointer, not a model" in capsys.readouterr().err
    onnx.save(model(), folder / "given.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0)  # fmt: skip
    (folder / "w.bin").unlink()
    assert take_over(folder, model(), "other") == 1
    assert "external data of the graph are missing" in capsys.readouterr().err
