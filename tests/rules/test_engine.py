"""What the rules for engines ask of the steps of any product."""

from __future__ import annotations

import dataclasses
import json

import pytest
from known_model import DATA, GRAPH, HERE, RECORD, model, result
from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants.engine.target import InvalidTargetException
from pants_enginewright.engines.engine import plan_description, plan_inputs, plan_package
from pants_enginewright.engines.product import BuiltEngine
from pants_enginewright.environments.tool_environment import ToolEnvironment
from pants_enginewright.environments.toolchain import Toolchain
from pants_enginewright.kernels.compilation import CompiledCode
from pants_enginewright.models.model_source import ModelSource
from pants_enginewright.models.onnx_model import ReplacedSubgraphs
from pants_enginewright.products.onnxruntime.build import BuildOnnxruntimeEngine, name_reader
from pants_enginewright.products.onnxruntime.targets import OnnxruntimeEngineTarget
from pants_enginewright.steps.action import ActionRequest
from pants_enginewright.steps.files import File, Files

KIND = BuildOnnxruntimeEngine.create(
    OnnxruntimeEngineTarget({"model": ":model", "quantized_matmul": "int8"}, HERE)
)
ARTIFACTS = Files(Digest("5" * 64, 50), (File("model.onnx", "f" * 64, 500),))
TOOLCHAIN = Toolchain.of(
    Address("toolchains", target_name="rtx"),
    File("rtx.toml", "7" * 64, 7),
    {
        "product": "tensorrt-rtx",
        "version": "1.7.1.116",
        "cuda": "13.0",
        "environment": "lockfiles:rtx",
        "minimum_driver": "580.65.06",
        "compute_capabilities": ["8.9"],
        "onnx": {"opset_min": 9, "opset_max": 25, "ir_max": 11},
        "libraries": {},
    },
)
KERNELS = CompiledCode(
    Address("csrc/pooling"),
    Files(Digest("6" * 64, 60), (File("kernels.json", "8" * 64, 80), File("p.cubin", "9" * 64, 9))),
    result("compile_kernels", {"kernels": ["mean_pool"]}),
)


def built() -> BuiltEngine:
    replaced = dataclasses.replace(model(), replaced=(ReplacedSubgraphs("swiglu", 2),))
    return BuiltEngine(
        source=ModelSource.of_model(replaced),
        build=ActionRequest.create("build", address=HERE),
        result=result("build", {}),
        artifacts=ARTIFACTS,
        steps=(),
        toolchain=TOOLCHAIN,
        kernels=(KERNELS,),
    )


def test_build_for_onnxruntime() -> None:
    planned = KIND.plan(None)
    assert json.loads(planned.parameters) == {
        "provider": "cpu",
        "optimization_level": "extended",
        "quantized_matmul": "int8",
    }
    whole = planned.of_model(model().described_inputs)
    assert [(item.role, item.folder, item.digest) for item in whole.inputs] == [
        ("model", "model", GRAPH.digest),
        ("model", "model", DATA.digest),
        ("record", "record", RECORD.digest),
    ]


def test_a_library_of_operators_is_an_input_beside_the_model() -> None:
    whole = KIND.plan(ARTIFACTS).of_model(model().described_inputs)
    assert [item.role for item in whole.inputs] == ["operators", "model", "model", "record"]
    assert whole.inputs[0].digest == ARTIFACTS.digest


def test_engine_json_says_which_plugins_have_their_kernels() -> None:
    described = ReplacedSubgraphs("swiglu", 2, "operators.so").described()
    assert described == {
        "name": "swiglu",
        "count": 2,
        "embedded": False,
        "path": "operators.so",
        "implementation": "kernel",
    }


def test_the_reader_of_an_engine_for_onnxruntime_is_the_wheel_that_builds_it() -> None:
    names = ("numpy-2.4.6-cp311-cp311-linux.whl", "onnxruntime-1.32.0-cp311-cp311-linux.whl")
    wheels = Files(entries=tuple(File(name, "5" * 64, 5) for name in names))
    assert name_reader(wheels) == "onnxruntime 1.32.0"
    assert name_reader(Files()) is None


def test_files_of_a_package() -> None:
    shipped = plan_package(built())
    assert {name: file.sha256[0] for name, file in shipped.items()} == {
        "tokenizer/tokenizer.json": "d",
        "model.onnx": "f",
        "kernels/pooling/kernels.json": "8",
        "kernels/pooling/p.cubin": "9",
    }


def test_row_e8_a_package_keeps_the_folders_of_the_checkpoint() -> None:
    paths = ("config.json", "1_Pooling/config.json")
    shipped = plan_package(serving(*paths))
    assert {*paths} <= {*shipped}


def test_row_e8_a_file_of_the_packages_own_name_is_refused() -> None:
    for own in ("model.onnx", "README.md"):
        with pytest.raises(InvalidTargetException, match=f"own with these names: {own}$"):
            plan_package(serving("tokenizer.json", own))


def serving(*paths: str) -> BuiltEngine:
    files = Files(entries=tuple(File(path, "a" * 64, 1) for path in paths))
    one = built()
    return dataclasses.replace(one, source=dataclasses.replace(one.source, serving=files))


def test_row_e14_stop_tokens_go_where_text_is_generated() -> None:
    assert ModelSource.of_model(model()).generation is not None
    assert ModelSource.of_model(model("feature-extraction")).generation is None


def test_a_package_names_every_input_of_its_build() -> None:
    exporter = ToolEnvironment(HERE, "3.11.7", Files(entries=(File("onnx.whl", "5" * 64, 5),)))
    builder = ToolEnvironment(HERE, "3.11.7", Files(entries=(File("rtx.whl", "6" * 64, 6),)))
    rows = plan_inputs(built(), [("exporter", exporter), ("builder", builder)])
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
    assert {row["address"] for row in rows} == {"here:it", "toolchains:rtx"}


def test_the_description_of_an_engine() -> None:
    shipped = {"model.onnx": ARTIFACTS.entries[0]}
    planned = plan_description(KIND, built(), GRAPH, shipped, [])
    assert planned.module == "enginewright.products.onnxruntime.describe"
    assert json.loads(planned.parameters) == {
        "name": "it",
        "task": "text-generation-with-past",
        "source": {"kind": "onnx", "address": "here:it"},
        "files": {"model.onnx": {"sha256": "f" * 64, "size": 500}},
        "inputs": [],
        "plugins": [
            {
                "name": "swiglu",
                "count": 2,
                "embedded": True,
                "implementation": "inlined: the engine has no library of operators",
            }
        ],
        "kernels": [
            {
                "name": "pooling",
                "address": "csrc/pooling:pooling",
                "path": "kernels/pooling/kernels.json",
                "sha256": "8" * 64,
                "functions": ["mean_pool"],
            }
        ],
        "size_estimate": None,
        "length": {"tokens": 1024, "source": "max_position_embeddings"},
        "generation": {"stop": [0, 14], "begin": []},
        "toolchain": {
            "product": "tensorrt-rtx",
            "version": "1.7.1.116",
            "cuda": "13.0",
            "minimum_driver": "580.65.06",
            "compute_capabilities": ["8.9"],
        },
    }
