"""All mistakes of a BUILD file at once, and the targets that `parametrize` makes of one."""

from __future__ import annotations

from typing import List

import pytest
from pants.base.specs import DirLiteralSpec, RawSpecs
from pants.engine.internals.parametrize import Parametrize
from pants.engine.internals.scheduler import ExecutionError
from pants.engine.rules import QueryRule
from pants.engine.target import InvalidTargetException, Targets
from pants.testutil.rule_runner import RuleRunner
from pants_enginewright.build_files import build_file
from pants_enginewright.build_files.build_file import CheckBuildFile, CheckedBuildFile
from pants_enginewright.build_files.compute_capabilities import ComputeCapabilitiesField
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.engines.targets import ModelField
from pants_enginewright.models.targets import OnnxModelTarget
from pants_enginewright.products.tensorrt_rtx.targets import TensorrtRtxEngineTarget
from pants_enginewright.validation.targets import EngineTestTarget


@pytest.fixture(scope="module")
def runner() -> RuleRunner:
    return RuleRunner(
        rules=[
            *build_file.rules(),
            QueryRule(CheckedBuildFile, [CheckBuildFile]),
            QueryRule(Targets, [RawSpecs]),
        ],
        target_types=[EngineTestTarget, OnnxModelTarget, TensorrtRtxEngineTarget],
        objects={"parametrize": Parametrize},
    )


def targets_in(runner: RuleRunner, folder: str) -> Targets:
    specs = RawSpecs(dir_literals=(DirLiteralSpec(folder),), description_of_origin="the test")
    return runner.request(Targets, [specs])


def mistakes(runner: RuleRunner, folder: str) -> List[str]:
    """What the check says, line by line."""
    with pytest.raises(ExecutionError) as raised:
        runner.request(CheckedBuildFile, [CheckBuildFile(folder)])
    (error,) = raised.value.wrapped_exceptions
    assert isinstance(error, InvalidTargetException)
    return [line.strip() for line in str(error).splitlines() if line.strip()]


def test_all_mistakes_of_a_file_come_together(runner: RuleRunner) -> None:
    text = """
onnx_model(name="model", checkpoint=":checkpoint", task="generation", dtype="fp16", opset=17)
tensorrt_rtx_engine(
    name="engine",
    toolchain="toolchains:rtx",
    profiles=[{"batch": (1, 8, 4)}],
    compute_capabilities=["sm_89"],
)
"""
    runner.write_files({"wrong/BUILD": text})
    assert mistakes(runner, "wrong") == [
        "6 mistakes in BUILD files:",
        "* `tensorrt_rtx_engine` target wrong:engine: field `compute_capabilities` has value "
        "['sm_89']; expected a list of compute capabilities such as '8.6'; the toolchain says "
        "which it supports",
        "* `tensorrt_rtx_engine` target wrong:engine: field `model` is required; expected the "
        "address of an `onnx_model`, `onnx_file` or `quantized_model` target",
        "* `tensorrt_rtx_engine` target wrong:engine: field `profiles`, profile 0, axis 'batch' "
        "has value [1, 8, 4]; expected min <= opt <= max",
        "* `onnx_model` target wrong:model: field `dtype` has value 'fp16'; expected one of "
        "'float32', 'float16', 'bfloat16'",
        "* `onnx_model` target wrong:model: field `opset` has value 17; expected an integer of at "
        "least 18 and at most 23",
        "* `onnx_model` target wrong:model: field `task` has value 'generation'; expected one of "
        "'text-generation', 'text-generation-with-past', 'feature-extraction', "
        "'text-classification', 'token-classification'",
    ]


def test_fields_are_held_against_each_other_too(runner: RuleRunner) -> None:
    runner.write_files(
        {"alone/BUILD": 'engine_test(name="test", engine=":engine", dataset=":text")'}
    )
    assert mistakes(runner, "alone") == [
        "1 mistake in BUILD files:",
        "* `engine_test` target alone:test: fields `dataset` need the field `reference`",
    ]


def test_a_file_without_mistakes_passes(runner: RuleRunner) -> None:
    text = 'onnx_model(name="model", checkpoint=":checkpoint", task="text-generation")'
    runner.write_files({"right/BUILD": text})
    assert runner.request(CheckedBuildFile, [CheckBuildFile("right")]) == CheckedBuildFile()


FP16, BF16 = ":model@dtype=float16", ":model@dtype=bfloat16"
ENGINES = """
onnx_model(
    name="model",
    checkpoint=":checkpoint",
    task="text-generation",
    dtype=parametrize("float16", "bfloat16"),
)
tensorrt_rtx_engine(
    name="engine",
    model=parametrize(fp16=":model@dtype=float16", bf16=":model@dtype=bfloat16"),
    toolchain="toolchains:rtx",
    compute_capabilities=parametrize(desktop=["8.6", "8.9"], new={new}),
)
"""


def test_two_dtypes_and_two_lists_of_gpus_are_four_engines_of_one_target(
    runner: RuleRunner,
) -> None:
    runner.write_files({"matrix/BUILD": ENGINES.replace("{new}", '["12.0"]')})
    found = {
        str(target.address): (
            target[ModelField].value,
            thaw(target[ComputeCapabilitiesField].value),
        )
        for target in targets_in(runner, "matrix")
        if isinstance(target, TensorrtRtxEngineTarget)
    }
    assert found == {
        "matrix:engine@compute_capabilities=desktop,model=bf16": (BF16, ["8.6", "8.9"]),
        "matrix:engine@compute_capabilities=desktop,model=fp16": (FP16, ["8.6", "8.9"]),
        "matrix:engine@compute_capabilities=new,model=bf16": (BF16, ["12.0"]),
        "matrix:engine@compute_capabilities=new,model=fp16": (FP16, ["12.0"]),
    }
    runner.request(CheckedBuildFile, [CheckBuildFile("matrix")])


def test_each_mistake_of_a_parametrized_target_is_named(runner: RuleRunner) -> None:
    text = ENGINES.replace("{new}", '["sm_120"]')
    runner.write_files({"wrong_matrix/BUILD": text})
    said = (
        "field `compute_capabilities` has value ['sm_120']; expected a list of compute "
        "capabilities such as '8.6'; the toolchain says which it supports"
    )
    engine = "* `tensorrt_rtx_engine` target wrong_matrix:engine@compute_capabilities=new"
    assert mistakes(runner, "wrong_matrix") == [
        "2 mistakes in BUILD files:",
        f"{engine},model=bf16: {said}",
        f"{engine},model=fp16: {said}",
    ]
