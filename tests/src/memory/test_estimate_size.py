"""The estimate against plans that TensorRT for RTX really built."""

import json
import math

import ml_dtypes
import numpy as np
import onnx
import pytest
import tensorrt_rtx_bindings as trt

from enginewright import canonical_json
from enginewright.actions.estimate_size import run
from enginewright.actions.quantize_model import run as quantize_model
from enginewright.checkpoint.config import parse_config
from enginewright.checkpoint.tensor_layout import expected_tensors
from enginewright.exporters.direct.decoder_architecture import choose_weights, read_architecture
from enginewright.exporters.direct.decoder_graph import GraphOptions, decoder_model
from enginewright.exporters.direct.weight_layout import ExternalTensor
from enginewright.hashing import FileDigest
from enginewright.onnx_model.element_type import element_type
from enginewright.step import ActionRequest, InputFile

# 25 million parameters: large enough for the weights to decide the size, built in seconds.
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 16000,
    "hidden_size": 768,
    "intermediate_size": 2048,
    "num_hidden_layers": 2,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
}
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def write_model(folder, dtype):
    config = parse_config(CONFIG, "config.json")
    architecture = read_architecture(config, "text-generation", "config.json")
    kind = element_type(dtype, "test")
    stored, offset = [], 0
    for name, shape in expected_tensors(config).required.items():
        end = offset + kind.size * math.prod(shape)
        stored.append(ExternalTensor(name, shape, kind.safetensors, "weights", offset, end))
        offset = end
    weights = choose_weights(architecture, stored, "test")
    random = np.random.default_rng(0).normal(0, 0.02, offset // kind.size)
    folder.mkdir()
    (folder / "weights").write_bytes(random.astype(TYPES[dtype]).tobytes())
    options = GraphOptions(23, kind, True, True, attention_operator=True)
    onnx.save(decoder_model(architecture, weights, options), folder / "model.onnx")
    return folder / "model.onnx"


def files(*paths):
    return tuple(InputFile(path, FileDigest.of(path)) for path in paths)


def plan_bytes(model, batch):
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(str(model))
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM89, 0)
    for sequence, past in (((1, 64, 256), (0, 1, 256)), ((1, 1, 1), (1, 64, 511))):
        profile = builder.create_optimization_profile()
        total = tuple(a + b for a, b in zip(sequence, past, strict=True))
        ranges = {
            "batch": (1, 1, batch),
            "sequence": sequence,
            "past_sequence": past,
            "total_sequence": total,
        }
        for index in range(network.num_inputs):
            tensor = network.get_input(index)
            shapes = [
                [
                    size if size >= 0 else ranges[tensor.get_dimension_name(axis)][which]
                    for axis, size in enumerate(tensor.shape)
                ]
                for which in range(3)
            ]
            profile.set_shape(tensor.name, *shapes)
        config.add_optimization_profile(profile)
    return builder.build_serialized_network(network, config).nbytes


@pytest.mark.parametrize(
    ("dtype", "batch", "quantization"),
    [
        ("float16", 4, None),
        ("bfloat16", 4, None),
        ("float16", 1, None),
        ("bfloat16", 1, {"method": "int4", "group_size": 64}),
        ("float16", 4, {"method": "int8"}),
    ],
    ids=["float16", "bfloat16", "single-token", "int4", "int8"],
)
def test_engine_size_within_the_stated_tolerance(tmp_path, dtype, batch, quantization):
    model = write_model(tmp_path / "model", dtype)
    if quantization:
        inputs = {"model": files(model), "weights": files(model.parent / "weights")}
        quantize_model(ActionRequest("quantize_model", inputs, quantization), tmp_path / "int")
        model = tmp_path / "int/model/model.onnx"
    canonical_json.write(tmp_path / "config.json", CONFIG)
    parameters = {
        "dtype": dtype,
        "task": "text-generation-with-past",
        "quantization": quantization,
        "profiles": [
            {"batch": [1, 1, batch], "sequence": [1, 64, 256], "past_sequence": [0, 1, 256]},
            {"batch": [1, 1, batch], "sequence": [1, 1, 1], "past_sequence": [1, 64, 511]},
        ],
    }
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    inputs = {"config": files(tmp_path / "config.json")}
    estimated = run(ActionRequest("estimate_size", inputs, parameters), outputs)
    assert json.loads((outputs / "size_estimate.json").read_text()) == estimated
    actual = plan_bytes(model, batch)
    assert abs(actual - estimated["engine_bytes"]) <= estimated["tolerance_bytes"], actual
