"""The step `replace_subgraphs`, and that TensorRT for RTX builds what it writes."""

import json

import numpy as np
import onnx
import pytest
import tensorrt_rtx_bindings as trt
from step_process import run_module, write_request

from enginewright.actions import replace_subgraphs

MODEL = """
<ir_version: 10, opset_import: ["" : 23]>
g (float16[batch, 64] x) => (float16[batch, 64] y)
{
    n = RMSNormalization <axis = -1, epsilon = 1e-6> (x, gain)
    a = MatMul (n, first)
    b = MatMul (n, second)
    share = Sigmoid (a)
    silu = Mul (a, share)
    gated = Mul (silu, b)
    hidden = Add (x, gated)
    y = RMSNormalization <axis = -1, epsilon = 1e-6> (hidden, gain)
}
"""
ALL = ["add_rms_norm", "rms_norm", "swiglu"]


def step(folder, **parameters):
    folder.mkdir(exist_ok=True)
    model = onnx.parser.parse_model(MODEL)
    for name, shape in {"gain": [64], "first": [64, 64], "second": [64, 64]}.items():
        values = np.full(shape, 0.05, np.float16)
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    write_request(folder, "replace_subgraphs", {"model": ["m.onnx"]}, parameters)
    ran = run_module(folder, replace_subgraphs.__name__)
    return ran.code, ran.errors


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    code, errors = step(folder, plugins=ALL, mode="kernel")
    assert code == 0, errors
    return folder


def test_the_result(written):
    result = json.loads((written / "outputs/result.json").read_text())
    assert result == {
        "mode": "kernel",
        "domain": {"name": "enginewright", "version": 1},
        "replaced": [
            {"plugin": "add_rms_norm", "count": 1, "nodes": ["enginewright/add_rms_norm/y"]},
            {"plugin": "rms_norm", "count": 1, "nodes": ["enginewright/rms_norm/n"]},
            {"plugin": "swiglu", "count": 1, "nodes": ["enginewright/swiglu/gated"]},
        ],
    }


def test_bytes_are_equal_in_another_process(written, tmp_path):
    code, errors = step(tmp_path, plugins=ALL, mode="kernel")
    assert code == 0, errors
    assert (tmp_path / "outputs/model/model.onnx").read_bytes() == (
        written / "outputs/model/model.onnx"
    ).read_bytes()


def test_inlined_bytes_are_equal_in_two_processes(tmp_path):
    written = []
    for name in ("one", "two"):
        code, errors = step(tmp_path / name, plugins=ALL, mode="inline")
        assert code == 0, errors
        written.append((tmp_path / name / "outputs/model/model.onnx").read_bytes())
    assert written[0] == written[1]


def test_a_plugin_that_matches_nothing(tmp_path):
    code, errors = step(tmp_path, plugins=["rotary"], mode="kernel")
    assert code == 1
    assert "plugin `rotary` matches no subgraph of the model" in errors
    assert "m.onnx" in errors
    assert "Traceback" not in errors


def test_tensorrt_for_rtx_builds_it(written):
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    model = (written / "outputs/model/model.onnx").read_bytes()
    assert parser.parse(model), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 64), (2, 64), (4, 64))
    config.add_optimization_profile(profile)
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM89, 0)
    assert builder.build_serialized_network(network, config) is not None
