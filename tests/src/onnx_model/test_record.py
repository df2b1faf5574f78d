from __future__ import annotations

import json
from pathlib import Path

import onnx.parser
import pytest
from onnx import TensorProto, helper

from enginewright.errors import InputError
from enginewright.onnx_model.description import describe
from enginewright.onnx_model.record import OnnxRecord, TensorRecord, read_record
from enginewright.onnx_model.tensors import all_tensors

MODEL = """
<ir_version: 10, opset_import: ["ai.onnx" : 23, "com.microsoft" : 1]>
graph (float16[batch, sequence, 16] x, float8e4m3fn[1, ?] mask, bfloat16[8] bias)
    => (uint8[batch, 8] y)
<bfloat16[8] bias = {1, 1, 1, 1, 1, 1, 1, 1}, float16[2] w = {1, 2}>
{
  y = com.microsoft.Anything(x, mask, bias, w)
}
"""
RECORD = OnnxRecord(
    (
        TensorRecord("x", "float16", ("batch", "sequence", 16)),
        TensorRecord("mask", "float8_e4m3fn", (1, None)),
    ),
    (TensorRecord("y", "uint8", ("batch", 8)),),
    {"": 23, "com.microsoft": 1},
    10,
    ("b.bin",),
)


def model() -> onnx.ModelProto:
    made = onnx.parser.parse_model(MODEL)
    tensor = next(held.tensor for held in all_tensors(made) if held.name == "w")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="b.bin")
    return made


def test_a_graph_is_described() -> None:
    """Without `bias`, which an initializer provides."""
    assert describe(model()) == RECORD


def test_the_names_of_axes_by_position() -> None:
    assert RECORD.inputs[0].axes == {0: "batch", 1: "sequence"}
    assert RECORD.inputs[1].axes == {}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    RECORD.write(tmp_path)
    assert read_record(tmp_path / "onnx.json") == RECORD
    assert json.loads((tmp_path / "onnx.json").read_text()) == {
        "format": 1,
        "inputs": [
            {"name": "x", "dtype": "float16", "shape": ["batch", "sequence", 16]},
            {"name": "mask", "dtype": "float8_e4m3fn", "shape": [1, None]},
        ],
        "outputs": [{"name": "y", "dtype": "uint8", "shape": ["batch", 8]}],
        "opsets": {"": 23, "com.microsoft": 1},
        "ir_version": 10,
        "external_data": ["b.bin"],
    }


def test_all_that_is_wrong_in_a_file_is_said_at_once(tmp_path: Path) -> None:
    path = tmp_path / "onnx.json"
    path.write_text(
        '{"format": 2, "inputs": [{"name": "", "dtype": "x", "shape": [-1]}], "outputs": [], '
        '"opsets": {"": 0}, "ir_version": 10}'
    )
    with pytest.raises(InputError) as caught:
        read_record(path)
    assert [problem.where.removeprefix(str(path)) for problem in caught.value.problems] == [
        ", inputs[0].name",
        ", inputs[0].shape[0]",
        ', opsets[""]',
        "",
        ", format",
    ]


def test_an_input_that_is_no_tensor_is_refused() -> None:
    graph = helper.make_graph(
        [helper.make_node("SequenceLength", ["s"], ["y"])],
        "g",
        [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [])],
    )
    with pytest.raises(InputError, match="no tensor") as caught:
        describe(helper.make_model(graph))
    assert caught.value.problems[0].actual == "sequence_type"
