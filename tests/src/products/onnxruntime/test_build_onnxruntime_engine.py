"""The steps `build` and `describe` of ONNX Runtime."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from enginewright import canonical_json
from enginewright.engines.opening import open_backend
from enginewright.engines.package import read_package
from enginewright.engines.registry import find_own
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.products.onnxruntime.build import run
from enginewright.products.onnxruntime.describe import run as write_manifest
from enginewright.step import ActionRequest, InputFile


def files(*paths):
    return tuple(InputFile(path, FileDigest.of(path)) for path in paths)


def write_model(folder, onnx_type=TensorProto.FLOAT):
    weight = np.random.default_rng(0).normal(0, 0.1, (64, 32)).astype(np.float32)
    tensor = numpy_helper.from_array(weight, "w")
    nodes = [
        helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]),
        helper.make_node("Cast", ["wt"], ["wc"], to=onnx_type),
        helper.make_node("MatMul", ["x", "wc"], ["h"]),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", onnx_type, ["batch", 32])],
        [helper.make_tensor_value_info("y", onnx_type, ["batch", 64])],
        [tensor],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    folder.mkdir()
    onnx.save(
        model, folder / "model.onnx", save_as_external_data=True, location="w.bin",
        size_threshold=0,
    )  # fmt: skip
    return folder


def build(model, outputs, **parameters):
    outputs.mkdir()
    inputs = {"model": files(*sorted(model.iterdir()))}
    return run(ActionRequest("build_onnxruntime_engine", inputs, parameters), outputs)


def test_optimized_model_means_the_same(tmp_path):
    model = write_model(tmp_path / "model")
    result = build(model, tmp_path / "out")
    x = np.random.default_rng(1).normal(0, 1, (3, 32)).astype(np.float32)
    before, after = (
        onnxruntime.InferenceSession(str(folder / "model.onnx")).run(None, {"x": x})[0]
        for folder in (model, tmp_path / "out")
    )
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)
    optimized = onnx.load(tmp_path / "out/model.onnx", load_external_data=False)
    # The Transpose and the Cast of a constant are folded.
    assert {node.op_type for node in optimized.graph.node} <= {"MatMul", "Relu", "FusedMatMul"}
    assert result["product"] == {"name": "onnxruntime", "version": onnxruntime.__version__}
    assert result["tensors"] == [
        {"name": "x", "mode": "input", "dtype": "float32", "shape": ["batch", 32]},
        {"name": "y", "mode": "output", "dtype": "float32", "shape": ["batch", 64]},
    ]
    for name, digest in result["files"].items():
        assert FileDigest(**digest) == FileDigest.of(tmp_path / "out" / name)
    assert sorted(result["files"]) == ["model.onnx", "model.onnx.data"]


def test_same_bytes_from_two_folders(tmp_path):
    one = build(write_model(tmp_path / "a"), tmp_path / "out")
    other = build(write_model(tmp_path / "another folder"), tmp_path / "and another")
    assert one == other
    assert one["reproducibility"] == "bit-identical"


def test_levels_for_this_host_alone_promise_less(tmp_path):
    result = build(write_model(tmp_path / "m"), tmp_path / "out", optimization_level="all")
    assert result["reproducibility"] == "validated within tolerance"


def test_missing_kernel_is_explained(tmp_path):
    model = write_model(tmp_path / "model", TensorProto.BFLOAT16)
    with pytest.raises(InputError) as caught:
        build(model, tmp_path / "out")
    (problem,) = caught.value.problems
    assert "no kernel" in problem.what
    assert 'dtype="float32"' in problem.fix


def test_broken_model(tmp_path):
    model = write_model(tmp_path / "model")
    (model / "model.onnx").write_bytes(b"no protobuf")
    with pytest.raises(InputError, match="cannot load the model"):
        build(model, tmp_path / "out")


def test_all_wrong_parameters_at_once(tmp_path):
    model = write_model(tmp_path / "model")
    with pytest.raises(InputError) as caught:
        build(model, tmp_path / "out", provider="cuda", optimization_level="99", threads=4)
    assert [problem.where for problem in caught.value.problems] == [
        "parameters",
        "parameters, provider",
        "parameters, optimization_level",
    ]
    assert caught.value.problems[0].what == "unknown field `threads`"
    assert caught.value.problems[1].expected == "one of cpu"


def test_manifest_is_what_the_runner_reads(tmp_path):
    package = tmp_path / "package"
    result = build(write_model(tmp_path / "model"), package)
    canonical_json.write(tmp_path / "result.json", result)
    (package / "tokenizer.json").write_text("{}")
    (package / "tokenizer_config.json").write_text('{"model_max_length": 1024}')
    digest = FileDigest.of(package / "tokenizer.json")
    parameters = {
        "name": "small_cpu",
        "task": "text-generation",
        "source": {"kind": "onnx", "address": "models:small_fp32"},
        "files": {"tokenizer.json": vars(digest)},
        "inputs": [
            {"role": "weights", "address": "models:small", "path": "w", **vars(digest)},
        ],
        "length": {"tokens": 512, "source": "max_position_embeddings"},
    }
    inputs = {"build": files(tmp_path / "result.json")}
    write_manifest(ActionRequest("write_manifest", inputs, parameters), package)
    read = read_package(package, find_own)
    assert (read.manifest.name, read.task) == ("small_cpu", "text-generation")
    assert read.manifest.product.name == "onnxruntime"
    assert read.manifest.built == ("model.onnx", "model.onnx.data")
    assert read.manifest.own["model"] == "model.onnx"
    assert read.manifest.own["options"]["optimization_level"] == "extended"
    # The model's own limit counts where the tokenizer's is longer.
    assert read.limits.total_sequence == 512
    (package / "tokenizer_config.json").write_text('{"model_max_length": 128}')
    assert read.limits.total_sequence == 128
    readme = (package / "README.md").read_text()
    assert "- It runs on any processor.\n" in readme
    assert 'python -m enginewright.run . --prompt "Once upon a time"' in readme
    read.verify()
    x = np.ones((2, 32), np.float32)
    ran, _ = open_backend(read, threads=1).run({"x": x}, ["y"])
    session = onnxruntime.InferenceSession(str(tmp_path / "model" / "model.onnx"))
    np.testing.assert_allclose(ran["y"], session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)
    data = package / "model.onnx.data"
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"model\.onnx\.data"):
        read.verify()
    document = json.loads((package / "engine.json").read_text())
    assert sorted(document["files"]) == ["model.onnx", "model.onnx.data", "tokenizer.json"]
    assert document["inputs"][0]["address"] == "models:small"
    assert document["size_estimate"] is None


def test_manifest_problems_at_once(tmp_path):
    result = build(write_model(tmp_path / "model"), tmp_path / "out")
    canonical_json.write(tmp_path / "result.json", result)
    inputs = {"build": files(tmp_path / "result.json")}
    parameters = {"name": "x", "files": {}, "colour": "red"}
    with pytest.raises(InputError) as caught:
        write_manifest(ActionRequest("write_manifest", inputs, parameters), tmp_path / "out")
    text = str(caught.value)
    assert "colour" in text
    assert "`task` is missing" in text
    assert "`inputs` is missing" in text
