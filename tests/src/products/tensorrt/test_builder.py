"""Builds in processes of their own: one process makes one plan (see engine.builder)."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper
from step_process import Ran, run_module, write_request

from enginewright.onnx_model.description import describe
from enginewright.products.tensorrt import libraries
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX

MATMUL = """
<ir_version: 10, opset_import: ["" : 23]>
graph (float16[batch, sequence, 4] x) => (float16[batch, sequence, 2] y)
{
  h = MatMul(x, w)
  y = Relu(h)
}
"""
STATIC = """
<ir_version: 10, opset_import: ["" : 23]>
graph (float[2, 4] x) => (float[2, 4] y)
{
  y = Relu(x)
}
"""
KV_CACHE = """
<ir_version: 10, opset_import: ["" : 23]>
graph (float16[batch, 2, past, 64] cached, float16[batch, 2, sequence, 64] new)
    => (float16[batch, 2, total, 64] present)
{
  present = Concat<axis = 2>(cached, new)
}
"""
THREE_AXES = """
<ir_version: 10, opset_import: ["" : 23]>
graph (float16[batch, 2, past, 64] a, float16[batch, 2, sequence, 64] b)
    => (float16[batch, 2, past, 64] c, float16[batch, 2, sequence, 64] d)
{
  c = Relu(a)
  d = Relu(b)
}
"""
UNKNOWN = """
<ir_version: 10, opset_import: ["" : 23, "shop" : 1]>
graph (float[n] x) => (float[n] y)
{
  a = shop.Sharpen(x)
  b = Relu(a)
  y = shop.Polish(b)
}
"""
SLICE = """
<ir_version: 10, opset_import: ["" : 23]>
graph (float[batch, n] x, int64[1] start, int64[1] end) => (float[batch, m] y)
{
  axes = Constant<value_ints=[1]>()
  y = Slice(x, start, end, axes)
}
"""
PROFILE = {"batch": [1, 1, 2], "sequence": [1, 4, 8]}
STEP = "build_engine"
MODULE = "enginewright.products.tensorrt_rtx.build"


@pytest.fixture(scope="module")
def toolchain() -> dict[str, Any]:
    TENSORRT_RTX.load()
    return {
        "product": "tensorrt-rtx",
        "version": libraries.loaded_version(TENSORRT_RTX),
        "libraries": libraries.list_libraries(TENSORRT_RTX),
    }


def save(folder: Path, text: str, *, external: bool = False) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    model = onnx.parser.parse_model(text)
    if "MatMul" in text:
        numbers = [0.5, -1.0, 2.0, 0.25, -0.5, 1.0, 4.0, -2.0]
        weight = helper.make_tensor("w", TensorProto.FLOAT16, [4, 2], numbers)
        if external:
            # As raw data: only that can be moved out of the model.
            weight = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight), "w")
        model.graph.initializer.append(weight)
    onnx.save(
        model,
        str(folder / "model.onnx"),
        save_as_external_data=external,
        location="weights.bin",
        size_threshold=0,
    )
    return sorted(folder.iterdir())


def build(
    folder: Path,
    toolchain: dict[str, Any],
    text: str = MATMUL,
    *,
    external: bool = False,
    **options: Any,
) -> Ran:
    files = save(folder / "model", text, external=external)
    for file in files:
        file.chmod(0o444)
    standard = {"compute_capabilities": ["8.9"], "profiles": [PROFILE]}
    return run(folder, files, {"toolchain": toolchain, **standard, **options})


def run(folder: Path, files: list[Path], parameters: dict[str, Any]) -> Ran:
    graph = next(file for file in files if file.suffix == ".onnx")
    describe(onnx.load(str(graph), load_external_data=False)).write(folder)
    inputs = {"model": [f.relative_to(folder) for f in files], "record": ["onnx.json"]}
    write_request(folder, STEP, inputs, parameters)
    return run_module(folder, MODULE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, toolchain: dict[str, Any]) -> Ran:
    ran = build(tmp_path_factory.mktemp("first"), toolchain, external=True)
    assert ran.code == 0, ran.errors
    return ran


def test_result_describes_the_plan(built: Ran, toolchain: dict[str, Any]) -> None:
    result = built.result
    assert result["files"] == {
        "engine.plan": {
            "sha256": hashlib.sha256(built.plan).hexdigest(),
            "size": len(built.plan),
        }
    }
    assert result["product"] == {"name": "tensorrt-rtx", "version": toolchain["version"]}
    assert result["tensors"] == [
        {"name": "x", "mode": "input", "dtype": "float16", "shape": ["batch", "sequence", 4]},
        {"name": "y", "mode": "output", "dtype": "float16", "shape": ["batch", "sequence", 2]},
    ]
    assert result["own"]["profiles"] == [
        {
            "axes": PROFILE,
            "shapes": {"x": [[1, 1, 4], [1, 4, 4], [2, 8, 4]]},
        }
    ]
    assert result["own"]["compute_capabilities"] == ["8.9"]
    assert result["own"]["weight_streaming"] is False
    assert result["own"]["libraries"] == toolchain["libraries"]
    assert result["warnings"] == []


def test_result_holds_no_path_of_the_host(built: Ran) -> None:
    assert str(built.outputs.parent) not in json.dumps(built.result)
    assert str(built.outputs.parent).encode() not in built.plan


def test_progress_is_reported(built: Ran) -> None:
    assert "Building: Building engine 0/6" in built.errors


def test_another_process_in_another_folder_gives_the_same_bytes(
    built: Ran, toolchain: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "another folder"
    again = build(folder, toolchain, external=True)
    assert again.plan == built.plan
    assert again.result == built.result


@pytest.mark.parametrize("graph", [THREE_AXES, KV_CACHE])
def test_three_dynamic_axes_give_the_same_bytes(
    graph: str, toolchain: dict[str, Any], tmp_path: Path
) -> None:
    # In plain processes with randomized addresses, two of five builds had other bytes.
    profile = {"batch": [1, 1, 4], "past": [0, 8, 128], "sequence": [1, 8, 64]}
    folders = [tmp_path / name for name in ("a", "another folder", "b" * 60)]
    ran = [build(folder, toolchain, graph, profiles=[profile]) for folder in folders]
    assert [each.code for each in ran] == [0, 0, 0], ran[0].errors
    assert [each.plan == ran[0].plan for each in ran] == [True] * 3
    assert {each.result["reproducibility"] for each in ran} == {"bit-identical"}


PLAIN = """
import sys
import tensorrt_rtx_bindings as trt

logger = trt.Logger(trt.Logger.ERROR)
builder = trt.Builder(logger)
network = builder.create_network(0)
parser = trt.OnnxParser(network, logger)
assert parser.parse_from_file(sys.argv[1])
config = builder.create_builder_config()
config.num_compute_capabilities = 1
config.set_compute_capability(trt.ComputeCapability.SM89, 0)
profile = builder.create_optimization_profile()
profile.set_shape("x", (1, 1, 4), (1, 4, 4), (2, 8, 4))
config.add_optimization_profile(profile)
with open(sys.argv[2], "wb") as plan:
    plan.write(builder.build_serialized_network(network, config))
"""


def test_the_plan_is_the_one_that_a_plain_script_builds(built: Ran, tmp_path: Path) -> None:
    model = built.outputs.parent / "model" / "model.onnx"
    plan = tmp_path / "plain.plan"
    subprocess.run([sys.executable, "-c", PLAIN, str(model), str(plan)], check=True, timeout=120)
    assert plan.read_bytes() == built.plan


def test_each_compute_capability_gives_other_bytes(
    built: Ran, toolchain: dict[str, Any], tmp_path: Path
) -> None:
    other = build(tmp_path, toolchain, external=True, compute_capabilities=["12.0", "8.6"])
    assert other.result["own"]["compute_capabilities"] == ["8.6", "12.0"]
    assert other.plan != built.plan


def test_options_reach_the_builder(toolchain: dict[str, Any], tmp_path: Path) -> None:
    ran = build(
        tmp_path,
        toolchain,
        profiles=[PROFILE, {"batch": [4, 4, 4], "sequence": [1, 1, 1]}],
        optimization_level=2,
        tiling_optimization_level="fast",
        weight_streaming=True,
        memory_pool_limits={"workspace": 1 << 30, "tactic_shared_memory": 1 << 15},
        max_aux_streams=0,
    )
    assert ran.code == 0, ran.errors
    assert len(ran.result["own"]["profiles"]) == 2
    assert ran.result["own"]["weight_streaming"] is True
    assert ran.result["own"]["options"]["memory_pool_limits"]["workspace"] == 1 << 30


def test_a_static_model_needs_no_profile(toolchain: dict[str, Any], tmp_path: Path) -> None:
    ran = build(tmp_path, toolchain, STATIC, profiles=[])
    assert ran.code == 0, ran.errors
    assert ran.result["own"]["profiles"] == []


def test_inputs_whose_values_decide_shapes_are_refused(
    toolchain: dict[str, Any], tmp_path: Path
) -> None:
    profile = {"batch": [1, 1, 2], "n": [4, 4, 8]}
    refused = build(tmp_path, toolchain, SLICE, profiles=[profile])
    assert refused.code == 1
    assert "the values of input `start` decide shapes" in refused.errors
    assert "the values of input `end` decide shapes" in refused.errors
    assert not refused.outputs.joinpath("engine.plan").exists()


def test_every_unsupported_node_is_named(toolchain: dict[str, Any], tmp_path: Path) -> None:
    ran = build(tmp_path, toolchain, UNKNOWN, profiles=[{"n": [1, 2, 3]}])
    assert ran.code == 1
    assert "the builder does not take operator `Sharpen`" in ran.errors
    assert "the builder does not take operator `Polish`" in ran.errors
    assert "node 2" in ran.errors
    assert "Traceback" not in ran.errors
    assert not ran.outputs.joinpath("engine.plan").exists()


def test_target_version_and_axis_mistakes_come_together(
    toolchain: dict[str, Any], tmp_path: Path
) -> None:
    ran = build(
        tmp_path,
        {**toolchain, "version": "1.7.1.117"},
        compute_capabilities=["8.6", "9.0"],
        profiles=[{"batch": [1, 1, 1], "seq": [1, 1, 1]}],
    )
    assert ran.code == 1
    actual = f"  actual:   {toolchain['version']}"
    expected = f"  where:    toolchain.version\n  expected: 1.7.1.117\n{actual}"
    assert f"has another version than the toolchain\n{expected}" in ran.errors
    assert "does not support compute capability 9.0" in ran.errors
    assert "one of 7.5, 8.0, 8.6, 8.9, 12.0, 12.1" in ran.errors
    assert "no input has a dynamic axis `seq`" in ran.errors
    assert "dynamic axis `sequence` has no range" in ran.errors


def test_other_libraries_than_the_toolchain_lists_leave_no_plan(
    toolchain: dict[str, Any], tmp_path: Path
) -> None:
    listed = dict(toolchain["libraries"])
    unlisted = listed.pop("tensorrt_rtx.so")
    listed.update({"libtensorrt_rtx.so.1": "0" * 64, "libx.so": "1" * 64})
    ran = build(tmp_path, {**toolchain, "libraries": listed})
    assert ran.code == 1
    assert ran.errors.count("\n  where:") == 3
    assert f"sha256 {'0' * 64}" in ran.errors
    assert f"sha256 {toolchain['libraries']['libtensorrt_rtx.so.1']}" in ran.errors
    assert unlisted in ran.errors
    assert "libx.so" in ran.errors
    assert "Building" not in ran.errors
    assert not ran.outputs.joinpath("engine.plan").exists()


def test_a_refused_option_is_an_error_although_the_builder_goes_on(
    toolchain: dict[str, Any], tmp_path: Path
) -> None:
    # The pool must be under 1 GiB (documented for TACTIC_SHARED_MEMORY).
    ran = build(tmp_path, toolchain, memory_pool_limits={"tactic_shared_memory": 1 << 40})
    assert ran.code == 1
    assert "setMemoryPoolLimit" in ran.errors


def test_external_data_that_is_not_there_is_an_error(
    toolchain: dict[str, Any], tmp_path: Path
) -> None:
    model, weights = save(tmp_path / "model", MATMUL, external=True)
    weights.unlink()
    parameters = {
        "toolchain": toolchain,
        "compute_capabilities": ["8.9"],
        "profiles": [PROFILE],
    }
    ran = run(tmp_path, [model], parameters)
    assert ran.code == 1, ran.errors
    assert "the builder cannot read the model" in ran.errors
    assert "weights.bin" in ran.errors
    assert "Traceback" not in ran.errors


def test_a_changed_input_is_refused(toolchain: dict[str, Any], tmp_path: Path) -> None:
    [model] = save(tmp_path / "model", STATIC)
    describe(onnx.load(str(model))).write(tmp_path)
    parameters = {"toolchain": toolchain, "compute_capabilities": ["8.9"]}
    write_request(
        tmp_path, STEP, {"model": ["model/model.onnx"], "record": ["onnx.json"]}, parameters
    )
    model.write_bytes(model.read_bytes() + b"\x00")
    ran = run_module(tmp_path, MODULE)
    assert ran.code == 1
    assert "file differs from the one that was promised" in ran.errors
