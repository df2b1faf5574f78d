"""The steps `check_graph` and `check_weights`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from enginewright.actions import check_graph, check_weights
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.onnx_model.description import describe
from enginewright.step import ActionRequest, InputFile

TEXT = """<ir_version: 10, opset_import: ["" : 23]>
main (float16[batch, 2] x) => (float16[batch, 3] y) { y = MatMul(x, w) }"""
AXES = {"x": {"0": "batch"}, "y": {"0": "batch"}}
STANDARD = {"dynamic_axes": ["batch"], "dtype": "float16", "reader": None, "length": 128}
READER = {"product": "TensorRT for RTX", "opset_min": 9, "opset_max": 23, "ir_max": 10}


def write_model(folder: Path, weights: np.ndarray, dtype: int = onnx.TensorProto.FLOAT16) -> Path:
    proto = onnx.parser.parse_model(TEXT)
    tensor = proto.graph.initializer.add(
        name="w", dims=[2, 3], data_type=dtype, data_location=onnx.TensorProto.EXTERNAL
    )
    tensor.external_data.add(key="location", value="model.onnx.data")
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    describe(proto).write(folder)
    (folder / "model.onnx.data").write_bytes(weights.tobytes())
    return path


def request(parameters: dict[str, Any], **inputs: list[Path]) -> ActionRequest:
    files = {
        role: tuple(InputFile(path, FileDigest.of(path)) for path in paths)
        for role, paths in inputs.items()
    }
    return ActionRequest("check", files, parameters)


def graph_request(path: Path, parameters: dict[str, Any]) -> ActionRequest:
    return request({**STANDARD, **parameters}, model=[path], record=[path.with_name("onnx.json")])


def graph_errors(path: Path, parameters: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        check_graph.run(graph_request(path, parameters), path.parent)
    return str(caught.value)


def weight_errors(path: Path, dtype: str) -> str:
    data = path.with_name("model.onnx.data")
    with pytest.raises(InputError) as caught:
        check_weights.run(request({"dtype": dtype}, model=[path], data=[data]), path.parent)
    return str(caught.value)


@pytest.mark.parametrize("axes", [AXES, ["batch"]], ids=["by-tensor", "by-name"])
def test_a_sound_model_passes_every_check(tmp_path: Path, axes: Any) -> None:
    path = write_model(tmp_path, np.ones((2, 3), np.float16))
    parameters = {"dynamic_axes": axes, "reader": READER}
    assert check_graph.run(graph_request(path, parameters), tmp_path) == {
        "checks": [
            "attribute_size",
            "constant_range",
            "dynamic_axes",
            "external_data",
            "half_norms",
            "half_positions",
            "half_sums",
            "int64_constants",
            "mask_sums",
            "names",
            "reader_limits",
            "record",
            "shape_inputs",
            "shapes",
            "structure",
            "weight_dtype",
        ],
        "warnings": [],
    }


def test_problems_of_all_checks_together(tmp_path: Path) -> None:
    path = write_model(tmp_path, np.ones((2, 3), np.float16))
    reader = {**READER, "opset_max": 20, "ir_max": 9}
    parameters = {"dynamic_axes": ["batch", "sequence"], "dtype": "float32", "reader": reader}
    text = graph_errors(path, parameters)
    assert "TensorRT for RTX does not read this IR version" in text
    assert "TensorRT for RTX does not read this opset" in text
    assert "a declared dynamic axis is not dynamic" in text
    assert "the weights have another dtype" in text


def test_wrong_parameters_together(tmp_path: Path) -> None:
    path = write_model(tmp_path, np.ones((2, 3), np.float16))
    parameters = {"dynamic_axes": {"x": 1}, "dtype": "int3", "reader": {}, "more": 1}
    text = graph_errors(path, parameters)
    for where in ("dynamic_axes.x", "dtype", "reader"):
        assert f"parameters, {where}" in text
    assert "unknown field `more`" in text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer, not a model"),
        (b"\xff\xff\xff", "not an ONNX model"),
        (b"", "not an ONNX model"),
    ],
)
def test_a_file_that_is_no_model(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    path.with_name("onnx.json").write_text("{}")
    assert expected in graph_errors(path, {})


@pytest.mark.parametrize(
    ("reader", "problems", "warnings"),
    [("onnxruntime 1.17", 2, 0), ("onnxruntime 1.32.0", 0, 0), ("onnxruntime 9.9", 0, 1)],
)
def test_a_reader_by_name_has_the_limits_of_the_table(
    tmp_path: Path, reader: str, problems: int, warnings: int
) -> None:
    path = write_model(tmp_path, np.ones((2, 3), np.float16))
    if problems:
        text = graph_errors(path, {"reader": reader})
        assert text.count("onnxruntime 1.17 does not read this") == problems
        return
    result = check_graph.run(graph_request(path, {"reader": reader}), tmp_path)
    assert len(result["warnings"]) == warnings


def test_sound_weights(tmp_path: Path) -> None:
    path = write_model(tmp_path, np.ones((2, 3), np.float16))
    extra = tmp_path / "extra.bin"
    extra.write_bytes(b"")
    data = [tmp_path / "model.onnx.data", extra]
    result = check_weights.run(request({"dtype": "float16"}, model=[path], data=data), tmp_path)
    assert result == {
        "checks": ["external_data", "unused_data", "weight_values"],
        "warnings": ["no tensor of the graph lies in `extra.bin`"],
    }


def test_nan_and_infinite_weights(tmp_path: Path) -> None:
    weights = np.array([[1, np.nan, 3], [np.inf, -np.inf, 6]], np.float16)
    text = weight_errors(write_model(tmp_path, weights), "float16")
    assert "model.onnx, tensor `w` in `model.onnx.data`" in text
    assert "actual:   1 NaN and 2 infinite values" in text


def test_weights_beyond_float16(tmp_path: Path) -> None:
    path = write_model(tmp_path, np.full((2, 3), 7e4, np.float32), onnx.TensorProto.FLOAT)
    text = weight_errors(path, "float16")
    assert "expected: at most 65504 in magnitude" in text
    assert "actual:   6 values, the largest 70000" in text
    data = [tmp_path / "model.onnx.data"]
    check_weights.run(request({"dtype": "bfloat16"}, model=[path], data=data), tmp_path)


def test_bfloat16_weights_are_read(tmp_path: Path) -> None:
    one, nan = 0x3F80, 0x7FC0
    weights = np.array([one, one, one, one, one, nan], np.uint16)
    path = write_model(tmp_path, weights, onnx.TensorProto.BFLOAT16)
    assert "1 NaN and 0 infinite values" in weight_errors(path, "bfloat16")


def test_truncated_and_missing_data(tmp_path: Path) -> None:
    path = write_model(tmp_path, np.ones(5, np.float16))
    text = weight_errors(path, "float16")
    assert "expected: at least 12 bytes in `model.onnx.data`" in text
    assert "actual:   10 bytes" in text
    with pytest.raises(InputError, match="a file of external data is missing"):
        check_weights.run(request({"dtype": "float16"}, model=[path]), tmp_path)


def test_changed_data_is_noticed(tmp_path: Path) -> None:
    path = write_model(tmp_path, np.ones((2, 3), np.float16))
    promised = request({"dtype": "float16"}, model=[path], data=[tmp_path / "model.onnx.data"])
    write_model(tmp_path, np.zeros((2, 3), np.float16))
    with pytest.raises(InputError, match="differs from the one that was promised"):
        check_weights.run(promised, tmp_path)


def test_weights_for_an_unknown_dtype(tmp_path: Path) -> None:
    path = write_model(tmp_path, np.ones((2, 3), np.float16))
    assert "bfloat16 or float16 or float32" in weight_errors(path, "int8")
