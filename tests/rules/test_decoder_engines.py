"""What rules ask of the steps for decoders: quantization, sizes, engines that run anywhere."""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest
from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants.engine.target import Target
from pants_enginewright.build_files.build_file import problems_of
from pants_enginewright.engines.engine import plan_inputs
from pants_enginewright.engines.size_estimate import (
    EstimateSize,
    describe_sizes,
    plan_estimate,
)
from pants_enginewright.engines.targets import OnnxruntimeEngineTarget
from pants_enginewright.environments.tool_environment import ToolEnvironment
from pants_enginewright.models.checkpoint import Checkpoint
from pants_enginewright.models.model_check import plan_graph_check, plan_weights_check
from pants_enginewright.models.onnx_model import OnnxModel
from pants_enginewright.models.quantized_model import QuantizeModel
from pants_enginewright.models.targets import QuantizedModelTarget
from pants_enginewright.products.onnxruntime.build import (
    name_reader,
    plan_files,
    plan_onnxruntime_build,
)
from pants_enginewright.steps.action import ActionRequest, ActionResult
from pants_enginewright.steps.files import File, Files

HERE = Address("here", target_name="it")
CONFIG = Files(Digest("1" * 64, 10), (File("config.json", "a" * 64, 100),))
GRAPH = Files(Digest("2" * 64, 20), (File("model.onnx", "b" * 64, 200),))
RECORD = Files(Digest("5" * 64, 50), (File("onnx.json", "e" * 64, 500),))
DATA = Files(Digest("3" * 64, 30), (File("model.safetensors", "c" * 64, 300),))
TOKENIZER = Files(Digest("4" * 64, 40), (File("tokenizer/tokenizer.json", "d" * 64, 400),))


def result(action: str, document: Any, files: Files = GRAPH) -> ActionResult:
    metadata: Any = None
    return ActionResult(action, "here:it", "e" * 64, files, json.dumps(document), "", metadata)


def model(
    task: str = "text-generation-with-past",
    model_type: str = "qwen3",
    scheme: Optional[dict[str, Any]] = None,
) -> OnnxModel:
    length = {"tokens": 1024, "source": "max_position_embeddings"}
    summary = {"model_type": model_type, "length": length}
    verified = result("verify_checkpoint", {"summary": summary})
    checkpoint = Checkpoint(HERE, CONFIG.entries[0], CONFIG, CONFIG, DATA, TOKENIZER, (verified,))
    quantization = None if scheme is None else result("quantize_model", {"scheme": scheme})
    export = result("export_direct", {})
    return OnnxModel(
        HERE,
        checkpoint,
        task,
        "float16",
        "last",
        "onnx",
        GRAPH,
        DATA,
        RECORD,
        (verified, export),
        quantization,
    )


def estimate(of: OnnxModel, profiles: str = "[]") -> Optional[ActionRequest]:
    return plan_estimate(EstimateSize(HERE, of, profiles))


def quantized(**fields: Any) -> Target:
    return QuantizedModelTarget({"model": ":model", **fields}, HERE)


def test_estimate_of_a_quantized_decoder() -> None:
    scheme = {"bits": 4, "group_size": 32, "keep": ["*lm_head*"]}
    profiles = '[{"batch": [1, 1, 2], "sequence": [1, 8, 64]}, {"tokens": [1, 8, 64]}]'
    planned = estimate(model(scheme=scheme), profiles)
    assert planned is not None
    assert [item.role for item in planned.inputs] == ["config"]
    assert json.loads(planned.parameters) == {
        "dtype": "float16",
        "task": "text-generation-with-past",
        "logits": "last",
        "quantization": {"method": "int4", "group_size": 32, "keep": ["*lm_head*"]},
        # Memory is estimated for profiles with the axes that it depends on.
        "profiles": [{"batch": [1, 1, 2], "sequence": [1, 8, 64]}],
    }


@pytest.mark.parametrize(
    ("task", "model_type"), [("feature-extraction", "qwen3"), ("text-generation", "gpt2")]
)
def test_no_estimate_where_the_sizes_are_not_known(task: str, model_type: str) -> None:
    assert estimate(model(task, model_type)) is None


def test_the_key_of_the_estimate_has_no_weights() -> None:
    planned = estimate(model())
    assert planned is not None
    assert [file.path for item in planned.inputs for file in item.files] == ["config.json"]


def test_sizes_for_people() -> None:
    sizes = {"weights": {"bytes": 1_520_000}, "kv_bytes_per_token": 2048, "engine_bytes": 6_520_000}
    assert describe_sizes(sizes, 9_600_000, True) == (
        "weights 1.5 MB, KV cache 2,048 bytes a token, engine 9.6 MB (6.5 MB estimated)"
    )
    assert describe_sizes(sizes, 1_234_500_000, False) == (
        "weights 1.5 MB, KV cache 2,048 bytes a token, engine 1,234.5 MB"
    )


def test_scheme_with_defaults() -> None:
    assert QuantizeModel.create(quantized(method="int8")).scheme() == {
        "method": "int8",
        "group_size": None,
        "keep": ["*embed_tokens*", "*lm_head*"],
    }


def test_scheme_as_written() -> None:
    target = quantized(method="int4", group_size=64, keep=["*.0.*"])
    assert QuantizeModel.create(target).scheme() == {
        "method": "int4",
        "group_size": 64,
        "keep": ["*.0.*"],
    }


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"method": "int4"}, "field `group_size` is required for method 'int4'"),
        ({"method": "int8", "group_size": 32}, "field `group_size` is for method 'int4'"),
        ({"method": "int4", "group_size": 48}, "has value 48; expected one of 32, 64, 128"),
        ({"method": "fp4"}, "has value 'fp4'; expected one of 'int8', 'int4'"),
        ({"method": "int8", "keep": "*"}, "expected a list of patterns of names"),
    ],
)
def test_mistakes_of_a_quantized_model(fields: dict[str, Any], problem: str) -> None:
    (found,) = problems_of(quantized(**fields))
    assert problem in found


def test_build_for_onnxruntime() -> None:
    target = OnnxruntimeEngineTarget({"model": ":model", "quantized_matmul": "int8"}, HERE)
    planned = plan_onnxruntime_build(target, model())
    assert planned.module == "enginewright.products.onnxruntime.build"
    assert json.loads(planned.parameters) == {
        "provider": "cpu",
        "optimization_level": "extended",
        "quantized_matmul": "int8",
    }
    assert [(item.role, item.folder) for item in planned.inputs] == [
        ("model", "model"),
        ("model", "model"),
    ]


def test_files_of_a_package_for_onnxruntime() -> None:
    outputs = Files(
        Digest("5" * 64, 50), (File("model.onnx", "f" * 64, 500), File("result.json", "0" * 64, 6))
    )
    built = result("build_onnxruntime_engine", {"files": {"model.onnx": {}}}, outputs)
    shipped = plan_files(built, TOKENIZER)
    assert {name: file.sha256[0] for name, file in shipped.items()} == {
        "tokenizer.json": "d",
        "model.onnx": "f",
    }


def test_the_check_of_a_graph_gets_no_weights() -> None:
    planned = plan_graph_check(model(), {"product": "rtx", "ir_max": 11})
    paths = [(item.role, file.path) for item in planned.inputs for file in item.files]
    assert paths == [("model", "model.onnx"), ("record", "onnx.json")]
    assert json.loads(planned.parameters) == {
        "dynamic_axes": ["batch", "sequence"],
        "dtype": "float16",
        "reader": {"product": "rtx", "ir_max": 11},
        "length": 1024,
    }
    assert json.loads(plan_graph_check(model()).parameters)["reader"] is None


def test_the_reader_of_an_engine_for_onnxruntime_is_the_wheel_that_builds_it() -> None:
    names = ("numpy-2.4.6-cp311-cp311-linux.whl", "onnxruntime-1.32.0-cp311-cp311-linux.whl")
    wheels = Files(entries=tuple(File(name, "5" * 64, 5) for name in names))
    assert name_reader(wheels) == "onnxruntime 1.32.0"
    assert name_reader(Files()) is None


def test_the_check_of_the_weights_gets_all_of_the_model() -> None:
    planned = plan_weights_check(model())
    assert {item.role: [file.path for file in item.files] for item in planned.inputs} == {
        "model": ["model.onnx"],
        "data": ["model.safetensors"],
    }
    assert {item.folder for item in planned.inputs} == {"model"}
    assert json.loads(planned.parameters) == {"dtype": "float16"}


def test_a_package_names_every_input_of_its_build() -> None:
    exporter = ToolEnvironment(HERE, "3.11.7", Files(entries=(File("onnx.whl", "5" * 64, 5),)))
    builder = ToolEnvironment(HERE, "3.11.7", Files(entries=(File("rtx.whl", "6" * 64, 6),)))
    toolchain = ("toolchain", HERE, File("rtx.toml", "7" * 64, 7))
    rows = plan_inputs(model(), exporter, builder, [toolchain])
    assert [(row["role"], row["path"], row["sha256"][0], row["size"]) for row in rows] == [
        ("config", "config.json", "a", 100),
        ("weights", "model.safetensors", "c", 300),
        ("tokenizer", "tokenizer/tokenizer.json", "d", 400),
        ("onnx", "model.onnx", "b", 200),
        ("onnx", "model.safetensors", "c", 300),
        ("toolchain", "rtx.toml", "7", 7),
        ("exporter", "onnx.whl", "5", 5),
        ("builder", "rtx.whl", "6", 6),
    ]
    assert {row["address"] for row in rows} == {"here:it"}
