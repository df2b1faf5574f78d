"""The step `convert_weights`, and the layout that the graph counts on."""

import ml_dtypes
import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import load_file

from enginewright import canonical_json
from enginewright.actions.convert_weights import run
from enginewright.checkpoint.safetensors_header import read_header
from enginewright.errors import InputError
from enginewright.exporters.direct.weight_layout import converted_layout, read_layout
from enginewright.hashing import FileDigest
from enginewright.onnx_model.element_type import element_type
from enginewright.step import ActionRequest, InputFile


def files(*paths):
    return tuple(InputFile(path, FileDigest.of(path)) for path in paths)


def request(folder, tensors_by_file, dtype):
    entries = []
    for name, tensors in tensors_by_file.items():
        save_file(tensors, folder / name)
        entries += [
            {
                "name": t.name,
                "dtype": t.dtype,
                "shape": list(t.shape),
                "file": name,
                "begin": t.begin,
                "end": t.end,
            }
            for t in read_header(folder / name).tensors
        ]
    canonical_json.write(folder / "checkpoint.json", {"tensors": entries})
    return ActionRequest(
        "convert_weights",
        {
            "weights": files(*(folder / name for name in tensors_by_file)),
            "descriptor": files(folder / "checkpoint.json"),
        },
        {"dtype": dtype},
    )


def test_values_are_those_of_torch(tmp_path):
    values = np.array([0.0, 1.0, -2.5, 1 / 3, 65504.0, 1e-7, 6e-8], np.float32)
    step = request(tmp_path, {"model.safetensors": {"w": values}}, "float16")
    result = run(step, tmp_path / "outputs")
    converted = load_file(tmp_path / "outputs/weights/model.safetensors")
    assert torch.equal(converted["w"], torch.from_numpy(values).half())
    assert result["warnings"] == []


def test_float32_to_bfloat16_rounds_to_even(tmp_path):
    # 1 + 2^-8 lies between 1 and 1 + 2^-7; 1 + 3 * 2^-8 between 1 + 2^-7 and 1 + 2^-6.
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8], np.float32)
    run(request(tmp_path, {"model.safetensors": {"w": values}}, "bfloat16"), tmp_path / "outputs")
    converted = load_file(tmp_path / "outputs/weights/model.safetensors")["w"]
    assert converted.dtype == torch.bfloat16
    assert converted.float().tolist() == [1.0, 1 + 2**-6]


def test_files_lie_as_the_graph_expects(tmp_path):
    shards = {
        "model-00001-of-00002.safetensors": {
            "b": np.ones((2, 3), np.float32),
            "a": np.ones(5, np.float32),
        },
        "model-00002-of-00002.safetensors": {
            "c": np.ones(4, ml_dtypes.bfloat16),
            "counter": np.ones(1, np.int64),
        },
    }
    step = request(tmp_path, shards, "float16")
    result = run(step, tmp_path / "outputs")
    assert result["files"] == [f"weights/{name}" for name in shards]
    stored = read_layout(canonical_json.read_object(tmp_path / "checkpoint.json"))
    for layout in converted_layout(stored, element_type("float16", "test")):
        header = read_header(tmp_path / "outputs/weights" / layout.file)
        assert [(t.name, t.begin, t.end) for t in header.tensors] == [
            (t.name, t.begin, t.end) for t in layout.tensors
        ]
    assert len(result["warnings"]) == 1
    assert "bfloat16" in result["warnings"][0]


def test_same_bytes_twice(tmp_path):
    step = request(
        tmp_path, {"model.safetensors": {"w": np.arange(10, dtype=np.float32)}}, "float16"
    )
    run(step, tmp_path / "one")
    run(step, tmp_path / "other")
    name = "weights/model.safetensors"
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_every_tensor_out_of_range_is_named(tmp_path):
    tensors = {
        "large": np.array([1.0, -70000.0, 1e30], np.float32),
        "fine": np.array([65519.0], np.float32),
        "not_finite": np.array([np.nan, np.inf, 1.0], np.float32),
    }
    step = request(tmp_path, {"model.safetensors": tensors}, "float16")
    with pytest.raises(InputError) as caught:
        run(step, tmp_path / "outputs")
    large, not_finite = caught.value.problems
    assert large.where == "model.safetensors, `large`"
    assert large.expected == "at most 65504"
    assert large.actual == "2 elements, the largest 1e+30"
    assert not_finite.where == "model.safetensors, `not_finite`"
    assert not_finite.actual == "2 elements"


def test_lost_elements_are_counted(tmp_path):
    tensors = {"w": np.array([1e-9, -1e-9, 0.0, 1.0], np.float32)}
    result = run(request(tmp_path, {"model.safetensors": tensors}, "float16"), tmp_path / "outputs")
    assert result["underflows"] == {"w": 2}


def test_changed_weights_are_refused(tmp_path):
    step = request(tmp_path, {"model.safetensors": {"w": np.ones(3, np.float32)}}, "float16")
    (tmp_path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(InputError, match="promised"):
        run(step, tmp_path / "outputs")


def test_missing_file_is_named(tmp_path):
    step = request(tmp_path, {"model.safetensors": {"w": np.ones(3, np.float32)}}, "float16")
    inputs = {**step.inputs, "weights": ()}
    with pytest.raises(InputError) as caught:
        run(ActionRequest(step.action, inputs, step.parameters), tmp_path / "outputs")
    assert caught.value.problems[0].expected == "model.safetensors"
