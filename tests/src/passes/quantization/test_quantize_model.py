"""The step `quantize_model` on small graphs, run in ONNX Runtime and built by TensorRT for RTX."""

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
import tensorrt_rtx_bindings as trt
from onnx import TensorProto, helper, numpy_helper

from enginewright.actions.quantize_model import run
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.onnx_model.record import read_record
from enginewright.onnx_model.tensors import all_tensors
from enginewright.passes.quantization.quantized_model import pack_int4
from enginewright.step import ActionRequest, InputFile

TYPES = {
    "float32": (TensorProto.FLOAT, np.float32),
    "float16": (TensorProto.FLOAT16, np.float16),
    "bfloat16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
}


def write_model(folder, dtype="float32"):
    """ids -> table lookup -> transposed weight -> plain weight -> logits by the table."""
    onnx_type, numpy_type = TYPES[dtype]
    random = np.random.default_rng(3)
    weights = {
        "embed_tokens.weight": random.normal(0, 1, (50, 64)),
        "up.weight": random.normal(0, 0.1, (128, 64)),
        "down": random.normal(0, 0.1, (128, 64)),
        "odd": random.normal(0, 0.1, (64, 24)),
        "back": random.normal(0, 0.1, (24, 64)),
    }
    nodes = [
        helper.make_node("Gather", ["embed_tokens.weight", "ids"], ["x"]),
        helper.make_node("Transpose", ["up.weight"], ["up.t"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "up.t"], ["h"]),
        helper.make_node("MatMul", ["h", "down"], ["y"]),
        helper.make_node("MatMul", ["y", "odd"], ["z"]),
        helper.make_node("MatMul", ["z", "back"], ["r"]),
        helper.make_node("Transpose", ["embed_tokens.weight"], ["head"], perm=[1, 0]),
        helper.make_node("MatMul", ["r", "head"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "sequence"])],
        [helper.make_tensor_value_info("logits", onnx_type, ["batch", "sequence", 50])],
        [
            helper.make_tensor(
                name, onnx_type, value.shape, value.astype(numpy_type).tobytes(), raw=True
            )
            for name, value in weights.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    folder.mkdir(exist_ok=True)
    onnx.save(
        model, folder / "model.onnx", save_as_external_data=True, location="weights.bin",
        size_threshold=0,
    )  # fmt: skip
    return folder


def quantize(folder, outputs, **parameters):
    files = [
        InputFile(folder / name, FileDigest.of(folder / name))
        for name in ("model.onnx", "weights.bin")
    ]
    inputs = {"model": (files[0],), "weights": (files[1],)}
    return run(ActionRequest("quantize_model", inputs, parameters), outputs)


def logits(path):
    settings = onnxruntime.SessionOptions()
    settings.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(str(path), settings)
    ids = np.arange(20).reshape(2, 10)
    return session.run(["logits"], {"ids": ids})[0].astype(np.float64).ravel()


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


@pytest.fixture(scope="module", params=["float32", "float16"])
def model(request, tmp_path_factory):
    return write_model(tmp_path_factory.mktemp(request.param), request.param)


@pytest.mark.parametrize(
    ("parameters", "closeness"),
    [({"method": "int8"}, 0.9999), ({"method": "int4", "group_size": 32}, 0.98)],
    ids=["int8", "int4"],
)
def test_meaning_stays(model, tmp_path, parameters, closeness):
    quantize(model, tmp_path, **parameters)
    before, after = logits(model / "model.onnx"), logits(tmp_path / "model/model.onnx")
    similarity = cosine(before, after)
    assert closeness < similarity < 1 - 1e-9


def test_report(tmp_path):
    model = write_model(tmp_path / "in", "float16")
    result = quantize(model, tmp_path / "out", method="int4", group_size=32)
    tensors = {tensor["name"]: tensor for tensor in result["tensors"]}
    # 64 * 128 nibbles, and 2 groups of 32 for each of 128 outputs with a scale of 2 bytes.
    assert tensors["up.weight"]["bytes_before"] == 16384
    assert tensors["up.weight"]["bytes_after"] == 4096 + 512
    assert 0.05 < tensors["up.weight"]["relative_error"] < 0.12
    assert tensors["back"]["kept"] == "24 inputs are no multiple of the group size"
    assert tensors["embed_tokens.weight"]["kept"] == "matches `*embed_tokens*`"
    assert result["warnings"] == [
        "group_size=32 does not divide the inputs (24) of 1 weights, which stay as they are "
        "(none of the group sizes does)"
    ]
    assert result["matrix_weights"]["tensors"] == 3
    assert result["matrix_weights"]["ratio_to_float16"] == 0.2812


def test_head_is_kept_whatever_its_name(tmp_path):
    model = write_model(tmp_path / "in")
    result = quantize(model, tmp_path / "out", method="int8", keep=["dow?"])
    kept = {tensor["name"]: tensor["kept"] for tensor in result["tensors"] if tensor["kept"]}
    assert kept == {"embed_tokens.weight": "output head", "down": "matches `dow?`"}


def test_graph_holds_standard_operators(tmp_path):
    model = write_model(tmp_path / "in")
    quantize(model, tmp_path / "out", method="int4", group_size=64)
    written = onnx.load(tmp_path / "out/model/model.onnx")
    onnx.checker.check_model(written, full_check=True)
    nodes = [node for node in written.graph.node if node.op_type == "DequantizeLinear"]
    assert [node.output[0] for node in nodes] == ["down", "odd", "up.t"]
    attributes = {item.name: item.i for item in nodes[2].attribute}
    assert attributes == {"axis": 0, "block_size": 64}
    stored = {tensor.name: tensor for tensor in written.graph.initializer}
    assert list(stored["up.weight.quantized"].dims) == [64, 128]
    integers = numpy_helper.to_array(stored["up.weight.quantized"]).astype(np.int8)
    scales = numpy_helper.to_array(stored["up.weight.scales"])
    original = onnx.load(model / "model.onnx")
    weight = numpy_helper.to_array(
        next(t for t in original.graph.initializer if t.name == "up.weight")
    )
    error = weight.T - integers * scales
    assert np.sqrt(np.square(error).sum() / np.square(weight).sum()) < 0.12


def test_same_bytes_twice(tmp_path):
    model = write_model(tmp_path / "in")
    quantize(model, tmp_path / "one", method="int4", group_size=32)
    quantize(model, tmp_path / "other", method="int4", group_size=32)
    for name in ("model/model.onnx", "model/model.quantized.data"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


INNER = """
<ir_version: 10, opset_import: ["" : 23, "own" : 1]>
g (float[n, 4] x, bool c) => (float[n, 4] y) <float[4, 4] w, float[4] tail = {1, 2, 3, 4}> {
  h = MatMul(x, w)
  k = If (c) <
    then_branch = one () => (float[4] a) <float[4] inner = {5, 6, 7, 8}> { a = Identity(inner) },
    else_branch = two () => (float[4] b) { b = Constant<value = float[4] {9, 10, 11, 12}>() }
  >
  s = Add(h, k)
  y = own.shift(s, tail)
}
<domain: "own", opset_import: ["" : 23]>
shift (s, t) => (y) {
  c = Constant<value = float[4] {13, 14, 15, 16}>()
  m = Add(s, t)
  y = Add(m, c)
}
"""


def test_tensors_of_branches_and_functions_come_along(tmp_path):
    """They named the old data file, which nobody ships with the quantized model."""
    model = onnx.parser.parse_model(INNER)
    del model.graph.initializer[:]
    for name, array in (("w", np.eye(4, dtype=np.float32)), ("tail", np.arange(1, 5))):
        tensor = numpy_helper.from_array(array.astype(np.float32), name)
        model.graph.initializer.append(tensor)
    data = b""
    for held in all_tensors(model):
        array = numpy_helper.to_array(held.tensor)
        for field in ("float_data", "raw_data"):
            held.tensor.ClearField(field)
        held.tensor.data_location = TensorProto.EXTERNAL
        entries = {"location": "weights.bin", "offset": str(len(data)), "length": str(array.nbytes)}
        for key, value in entries.items():
            held.tensor.external_data.add(key=key, value=value)
        data += array.tobytes()
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "weights.bin").write_bytes(data)
    quantize(folder, tmp_path / "out", method="int8", keep=[])
    record = read_record(tmp_path / "out/onnx.json")
    assert record.external_data == ("model.quantized.data",)
    session = onnxruntime.InferenceSession(str(tmp_path / "out/model/model.onnx"))
    x = np.zeros((1, 4), np.float32)
    for choice, expected in ((True, [19, 22, 25, 28]), (False, [23, 26, 29, 32])):
        (y,) = session.run(None, {"x": x, "c": np.array(choice)})
        assert y.tolist() == [expected]


def test_int4_packing_puts_the_first_in_the_low_half():
    packed = pack_int4(np.array([[1, -1], [7, -8], [3, 0]], np.int8))
    assert packed.tolist() == [0xF1, 0x87, 0x03]
    assert pack_int4(np.array([[5]], np.int8)).tolist() == [0x05]


def test_nothing_to_quantize_is_an_error(tmp_path):
    model = write_model(tmp_path / "in")
    with pytest.raises(InputError, match="no weight that can be quantized"):
        quantize(model, tmp_path / "out", method="int8", keep=["*"])


def test_a_group_size_that_divides_nothing_names_those_that_do(tmp_path):
    model = write_model(tmp_path / "in")
    keep = ["*embed_tokens*", "down", "back"]
    with pytest.raises(InputError) as caught:
        quantize(model, tmp_path / "out", method="int4", group_size=128, keep=keep)
    (problem,) = caught.value.problems
    assert problem.where == "parameter `group_size`"
    assert problem.expected == "a divisor of 64 (these do: 32, 64)"
    assert problem.actual == "128"


def test_missing_weights_file_is_named(tmp_path):
    model = write_model(tmp_path / "in")
    path = model / "model.onnx"
    inputs = {"model": (InputFile(path, FileDigest.of(path)),)}
    with pytest.raises(InputError) as caught:
        run(ActionRequest("quantize_model", inputs, {"method": "int8"}), tmp_path / "out")
    assert caught.value.problems[0].expected == "weights.bin"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "parameters",
    [{"method": "int8"}, {"method": "int4", "group_size": 32}],
    ids=["int8", "int4"],
)
def test_tensorrt_rtx_builds_it(tmp_path, dtype, parameters):
    model = write_model(tmp_path / "in", dtype)
    quantize(model, tmp_path / "out", **parameters)
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(str(tmp_path / "out/model/model.onnx"))
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM89, 0)
    profile = builder.create_optimization_profile()
    profile.set_shape("ids", (1, 1), (1, 16), (2, 64))
    config.add_optimization_profile(profile)
    assert builder.build_serialized_network(network, config) is not None
