"""What targets depend on: the modules of their steps, and what their fields name."""

from __future__ import annotations

from typing import Any, Tuple

import pytest
from pants.engine.addresses import Address, Addresses, UnparsedAddressInputs
from pants.engine.target import (
    InvalidTargetException,
    Target,
    WrappedTarget,
    WrappedTargetRequest,
)
from pants.testutil.rule_runner import MockGet, run_rule_with_mocks
from pants_enginewright.build_files.addresses import NamedTarget, resolve_target_of_kind
from pants_enginewright.build_files.dependencies import modules_of, specs_of, steps_of
from pants_enginewright.engines.targets import TensorrtRtxEngineTarget
from pants_enginewright.models.targets import (
    ConfigField,
    ModelCheckpointTarget,
    OnnxModelTarget,
    WeightsField,
)

HERE = Address("models/m", target_name="fp16")


def onnx_model(**fields: Any) -> Target:
    return OnnxModelTarget({"checkpoint": ":c", "task": "text-generation", **fields}, HERE)


@pytest.mark.parametrize(
    ("fields", "steps"),
    [
        ({}, (("export_onnx",), ("export",))),
        ({"plugins": ["rotary"]}, (("export_onnx", "replace_subgraphs"), ("export", "onnx"))),
        ({"exporter": "direct"}, (("export_direct", "convert_weights"), ("onnx",))),
    ],
)
def test_steps_and_environments_of_a_model(fields: Any, steps: Tuple[Any, Any]) -> None:
    assert steps_of(onnx_model(**fields)) == steps


def test_a_traced_model_depends_on_the_room_of_its_task_alone() -> None:
    room = "enginewright.tasks.feature_extraction.torch_module"
    assert modules_of(onnx_model(task="feature-extraction")) == (room,)
    assert modules_of(onnx_model(exporter="direct")) == ()


def test_every_address_that_a_field_names() -> None:
    fields = {"model": "models/m:fp16", "toolchain": "//t:t", "kernels": ["csrc/a", "csrc/b:c"]}
    target = TensorrtRtxEngineTarget({**fields, "compute_capabilities": ["8.9"]}, HERE)
    assert sorted(specs_of(target)) == ["//t:t", "csrc/a", "csrc/b:c", "models/m:fp16"]


def test_files_that_fields_name_belong_to_the_target() -> None:
    assert ConfigField("config.json", HERE).filespec == {"includes": ["models/m/config.json"]}
    weights = WeightsField(["a.safetensors", "b.safetensors"], HERE)
    assert weights.names == ("a.safetensors", "b.safetensors")
    assert weights.filespec["includes"] == ["models/m/a.safetensors", "models/m/b.safetensors"]


def resolve(named: NamedTarget, *kinds: str) -> Target:
    target = onnx_model()
    mocks = [
        MockGet(Addresses, (UnparsedAddressInputs,), lambda _: Addresses([HERE])),
        MockGet(WrappedTarget, (WrappedTargetRequest,), lambda _: WrappedTarget(target)),
    ]
    found = run_rule_with_mocks(
        resolve_target_of_kind, rule_args=[named.of_kind(*kinds)], mock_gets=mocks
    )
    return found.target


def test_a_target_of_another_kind_is_refused() -> None:
    named = NamedTarget(":fp16", "field `model` of engines:x", Address("engines"))
    assert resolve(named, ModelCheckpointTarget.alias, OnnxModelTarget.alias) == onnx_model()
    with pytest.raises(InvalidTargetException) as caught:
        resolve(named, ModelCheckpointTarget.alias)
    assert str(caught.value) == (
        "field `model` of engines:x names models/m:fp16, which is a `onnx_model` target; expected "
        "a `model_checkpoint` target"
    )
