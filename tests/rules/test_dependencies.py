"""What targets depend on: the modules of their steps, and what their fields name."""

from __future__ import annotations

from typing import Any, Tuple, Type

import pytest
from pants.engine.addresses import Address, Addresses, UnparsedAddressInputs
from pants.engine.target import (
    InvalidTargetException,
    RegisteredTargetTypes,
    Target,
    WrappedTarget,
    WrappedTargetRequest,
)
from pants.engine.unions import UnionMembership
from pants.testutil.rule_runner import MockGet, run_rule_with_mocks
from pants_enginewright.build_files.addresses import (
    NamedTarget,
    TargetOfKind,
    resolve_target_of_kind,
)
from pants_enginewright.build_files.build_file import CheckBuildFile, CheckedBuildFile
from pants_enginewright.build_files.dependencies import specs_of, steps_of
from pants_enginewright.build_files.kind import Kind, Steps
from pants_enginewright.models.checkpoint import CheckpointKind
from pants_enginewright.models.export import ExportModel
from pants_enginewright.models.onnx_model import MakeModel
from pants_enginewright.models.quantized_model import QuantizeModel
from pants_enginewright.models.targets import (
    ConfigField,
    ModelCheckpointTarget,
    OnnxModelTarget,
    QuantizedModelTarget,
    WeightsField,
)
from pants_enginewright.products.tensorrt_rtx.targets import TensorrtRtxEngineTarget

HERE = Address("models/m", target_name="fp16")


def onnx_model(**fields: Any) -> Target:
    return OnnxModelTarget({"checkpoint": ":c", "task": "text-generation", **fields}, HERE)


ACTIONS = "enginewright.actions"
TRACED = "enginewright.tasks.text_generation.torch_module"


@pytest.mark.parametrize(
    ("fields", "modules", "environments"),
    [
        ({}, (f"{ACTIONS}.export_onnx", TRACED), ("export",)),
        (
            {"plugins": ["rotary"]},
            (f"{ACTIONS}.export_onnx", TRACED, f"{ACTIONS}.replace_subgraphs"),
            ("export", "onnx"),
        ),
        (
            {"task": "feature-extraction"},
            (f"{ACTIONS}.export_onnx", "enginewright.tasks.feature_extraction.torch_module"),
            ("export",),
        ),
        (
            {"exporter": "direct"},
            (f"{ACTIONS}.export_direct", f"{ACTIONS}.convert_weights"),
            ("onnx",),
        ),
    ],
)
def test_steps_and_environments_of_a_model(
    fields: Any, modules: Tuple[str, ...], environments: Tuple[str, ...]
) -> None:
    kinds = (CheckpointKind, ExportModel, QuantizeModel)
    assert steps_of(onnx_model(**fields), kinds) == Steps(modules, environments)


def test_every_address_that_a_field_names() -> None:
    fields = {"model": "models/m:fp16", "toolchain": "//t:t", "kernels": ["csrc/a", "csrc/b:c"]}
    target = TensorrtRtxEngineTarget({**fields, "compute_capabilities": ["8.9"]}, HERE)
    assert sorted(specs_of(target)) == ["//t:t", "csrc/a", "csrc/b:c", "models/m:fp16"]


def test_files_that_fields_name_belong_to_the_target() -> None:
    config = ConfigField("hub/config.json", HERE).filespec["includes"]
    assert config[0] == "models/m/hub/config.json"
    # Read beside it, listed or not.
    assert "models/m/hub/modules.json" in config
    assert "models/m/hub/*_Pooling/config.json" in config
    weights = WeightsField(["a.safetensors", "b.safetensors"], HERE)
    assert weights.names == ("a.safetensors", "b.safetensors")
    assert weights.filespec["includes"] == ["models/m/a.safetensors", "models/m/b.safetensors"]


UNIONS = UnionMembership({MakeModel: [ExportModel, QuantizeModel]})
TYPES = RegisteredTargetTypes.create([ModelCheckpointTarget, OnnxModelTarget, QuantizedModelTarget])


def resolve(named: NamedTarget, kind: Type[Kind], target: Target) -> Kind:
    mocks = [
        MockGet(Addresses, (UnparsedAddressInputs,), lambda _: Addresses([HERE])),
        MockGet(WrappedTarget, (WrappedTargetRequest,), lambda _: WrappedTarget(target)),
        MockGet(CheckedBuildFile, (CheckBuildFile,), lambda _: CheckedBuildFile()),
    ]
    found: TargetOfKind = run_rule_with_mocks(
        resolve_target_of_kind, rule_args=[named.of_kind(kind), TYPES, UNIONS], mock_gets=mocks
    )
    return found.kind


def test_a_target_of_a_kind_or_of_a_member_of_a_union_of_kinds() -> None:
    named = NamedTarget(":fp16", "field `model` of engines:x", Address("engines"))
    assert resolve(named, ExportModel, onnx_model()) == ExportModel.create(onnx_model())
    assert resolve(named, MakeModel, onnx_model()) == ExportModel.create(onnx_model())


def test_a_target_that_is_to_be_made_afresh() -> None:
    named = NamedTarget(":fp16", "the command line", fresh=True)
    kind = resolve(named, MakeModel, onnx_model())
    assert kind.fresh
    assert kind == ExportModel.create(onnx_model()).afresh()
    assert kind != ExportModel.create(onnx_model())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (CheckpointKind, "a `model_checkpoint` target"),
        (MakeModel, "a `onnx_model` or `quantized_model` target"),
    ],
)
def test_a_target_of_another_kind_is_refused(kind: Type[Kind], expected: str) -> None:
    named = NamedTarget(":fp16", "field `model` of engines:x", Address("engines"))
    engine = TensorrtRtxEngineTarget({"model": ":m", "compute_capabilities": ["8.9"]}, HERE)
    with pytest.raises(InvalidTargetException) as caught:
        resolve(named, kind, engine)
    assert str(caught.value) == (
        f"field `model` of engines:x names models/m:fp16, which is a `tensorrt_rtx_engine` target; "
        f"expected {expected}"
    )
