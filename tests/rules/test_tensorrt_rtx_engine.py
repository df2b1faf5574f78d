"""What the rule for an engine of TensorRT for RTX asks of the step that builds it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants.engine.target import InvalidTargetException, Target
from pants_enginewright import canonical_json
from pants_enginewright.engines.engine import plan_build, raise_if_unsupported
from pants_enginewright.engines.targets import TensorrtRtxEngineTarget
from pants_enginewright.environments.toolchain import Toolchain
from pants_enginewright.models.checkpoint import Checkpoint
from pants_enginewright.models.onnx_model import OnnxModel
from pants_enginewright.steps.files import File, Files

HERE = Address("here", target_name="it")
GRAPH = Files(Digest("2" * 64, 20), (File("model.onnx", "b" * 64, 200),))
RECORD = Files(Digest("5" * 64, 50), (File("onnx.json", "e" * 64, 500),))
DATA = Files(Digest("3" * 64, 30), (File("model.onnx.data", "c" * 64, 300),))
LIBRARIES = {"libtensorrt_rtx.so.1": "d" * 64}
TOOLCHAIN = Toolchain(
    Address("toolchains", target_name="rtx"),
    File("rtx.toml", "e" * 64, 10),
    canonical_json.dumps(
        {
            "product": "tensorrt-rtx",
            "version": "1.7.1.116",
            "cuda": "13.0",
            "environment": "lockfiles:rtx",
            "minimum_driver": "580.65.06",
            "compute_capabilities": ["8.6", "8.9"],
            "onnx": {"opset_min": 9, "opset_max": 25, "ir_max": 11},
            "libraries": LIBRARIES,
        }
    ),
)


def engine(**fields: Any) -> Target:
    required = {"model": ":model", "toolchain": ":rtx", "compute_capabilities": ["8.9"]}
    return TensorrtRtxEngineTarget({**required, **fields}, HERE)


def model() -> OnnxModel:
    checkpoint = Checkpoint(HERE, GRAPH.entries[0], GRAPH, GRAPH, DATA, Files(), ())
    return OnnxModel(
        HERE, checkpoint, "text-generation", "float16", "all", "onnx", GRAPH, DATA, RECORD, ()
    )


def test_every_field_reaches_the_builder() -> None:
    target = engine(
        profiles=[{"batch": (1, 1, 8)}],
        compute_capabilities=["12.0", "8.6", "8.9"],
        optimization_level=5,
        tiling_level="fast",
        weight_streaming=True,
        workspace_bytes=1 << 30,
        max_aux_streams=0,
    )
    planned = plan_build(target, model(), TOOLCHAIN)
    assert planned.action == "build_engine"
    assert planned.module == "enginewright.products.tensorrt_rtx.build"
    assert planned.tool_environment == "lockfiles:rtx"
    assert json.loads(planned.parameters) == {
        "toolchain": {
            "product": "tensorrt-rtx",
            "version": "1.7.1.116",
            "libraries": LIBRARIES,
        },
        "profiles": [{"batch": [1, 1, 8]}],
        "compute_capabilities": ["8.6", "8.9", "12.0"],
        "optimization_level": 5,
        "tiling_optimization_level": "fast",
        "weight_streaming": True,
        "memory_pool_limits": {"workspace": 1 << 30},
        "max_aux_streams": 0,
    }
    paths = [(item.folder, file.path) for item in planned.inputs for file in item.files]
    assert paths == [
        ("model", "model.onnx"),
        ("model", "model.onnx.data"),
        ("record", "onnx.json"),
    ]


def test_what_is_not_said_is_left_to_the_product() -> None:
    parameters = json.loads(plan_build(engine(), model(), TOOLCHAIN).parameters)
    assert parameters["memory_pool_limits"] == {}
    assert parameters["optimization_level"] is None


def test_capabilities_that_the_toolchain_does_not_support_are_named() -> None:
    raise_if_unsupported(engine(compute_capabilities=["8.6", "8.9"]), TOOLCHAIN)
    with pytest.raises(InvalidTargetException) as caught:
        raise_if_unsupported(engine(compute_capabilities=["9.0", "8.9", "10.0"]), TOOLCHAIN)
    assert str(caught.value) == (
        "`tensorrt_rtx_engine` target here:it: field `compute_capabilities` has '9.0', '10.0', "
        "which toolchains:rtx does not support; expected some of '8.6', '8.9'"
    )
