"""What the rule for an engine of TensorRT for RTX asks of the step that builds it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pants.engine.addresses import Address
from pants.engine.target import InvalidTargetException
from pants_enginewright.engines.engine_limits import raise_if_unsupported
from pants_enginewright.environments.toolchain import Toolchain
from pants_enginewright.products.tensorrt_rtx.build import BuildTensorrtRtxEngine
from pants_enginewright.products.tensorrt_rtx.targets import TensorrtRtxEngineTarget
from pants_enginewright.steps.files import File

HERE = Address("here", target_name="it")
LIBRARIES = {"libtensorrt_rtx.so.1": "d" * 64}
TOOLCHAIN = Toolchain.of(
    Address("toolchains", target_name="rtx"),
    File("rtx.toml", "e" * 64, 10),
    {
        "product": "tensorrt-rtx",
        "version": "1.7.1.116",
        "cuda": "13.0",
        "environment": "lockfiles:rtx",
        "minimum_driver": "580.65.06",
        "compute_capabilities": ["8.6", "8.9"],
        "onnx": {"opset_min": 9, "opset_max": 25, "ir_max": 11},
        "libraries": LIBRARIES,
    },
)


def engine(**fields: Any) -> BuildTensorrtRtxEngine:
    required = {"model": ":model", "toolchain": ":rtx", "compute_capabilities": ["8.9"]}
    return BuildTensorrtRtxEngine.create(TensorrtRtxEngineTarget({**required, **fields}, HERE))


def parameters(**fields: Any) -> Any:
    return json.loads(engine(**fields).plan(TOOLCHAIN).parameters)


def test_every_field_reaches_the_builder() -> None:
    fields = engine(
        profiles=[{"batch": (1, 1, 8)}],
        compute_capabilities=["12.0", "8.6", "8.9"],
        optimization_level=5,
        tiling_level="fast",
        weight_streaming=True,
        workspace_bytes=1 << 30,
        max_aux_streams=0,
    )
    planned = fields.plan(TOOLCHAIN)
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


def test_what_is_not_said_is_left_to_the_product() -> None:
    assert parameters()["memory_pool_limits"] == {}
    assert parameters()["optimization_level"] is None


def test_the_default_of_the_product_is_not_said_to_it() -> None:
    assert parameters(optimization_level=3, tiling_level="none") == parameters()
    assert parameters(optimization_level=2) != parameters()


def test_the_order_of_the_gpus_does_not_matter() -> None:
    first, second = ["12.0", "8.6", "8.9"], ["8.6", "8.9", "12.0"]
    assert parameters(compute_capabilities=first) == parameters(compute_capabilities=second)


def test_an_engine_that_is_to_be_made_past_all_caches() -> None:
    assert not engine().plan(TOOLCHAIN).fresh
    assert engine().afresh().plan(TOOLCHAIN).fresh


def test_capabilities_that_the_toolchain_does_not_support_are_named() -> None:
    right = engine(compute_capabilities=["8.6", "8.9"])
    raise_if_unsupported(right.compute_capabilities, TOOLCHAIN)
    wrong = engine(compute_capabilities=["9.0", "8.9", "10.0"])
    with pytest.raises(InvalidTargetException) as caught:
        raise_if_unsupported(wrong.compute_capabilities, TOOLCHAIN)
    assert str(caught.value) == (
        "here:it: field `compute_capabilities` has '9.0', '10.0', "
        "which toolchains:rtx does not support; expected some of '8.6', '8.9'"
    )
