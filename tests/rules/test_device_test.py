"""Tests on a device: what runs there, what is refused, and what a host without one says."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any, Dict, List

import pytest
from pants.core.goals.test import ShowOutput
from pants.engine.addresses import Address
from pants.engine.fs import Digest
from pants.engine.target import InvalidTargetException
from pants_enginewright.goals.device_kit import KitPart, locked_versions, plan_kit
from pants_enginewright.goals.test import finish_device_test
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.steps.action import ActionInput, ActionRequest
from pants_enginewright.steps.files import File, Files
from pants_enginewright.validation.benchmark_targets import EngineBenchmarkTarget
from pants_enginewright.validation.device_result import (
    TestedOnDevice,
    TestOnDevice,
)
from pants_enginewright.validation.device_result import (
    test_on_device as run_on_device,
)
from pants_enginewright.validation.device_test import (
    plan_accuracy,
    plan_benchmark,
    raise_if_not_measurable,
)
from pants_enginewright.validation.local_device import LocalDevice
from pants_enginewright.validation.reference import Reference
from pants_enginewright.validation.targets import EngineTestTarget

HERE = Address("engines", target_name="device")
TASK = TASKS["text-generation-with-past"]
FACTS = '{"driver": "580.159.04", "name": "NVIDIA H200"}'


def files(*names: str) -> Files:
    entries = tuple(File(name, sha(name), len(name)) for name in names)
    return Files(Digest(sha("+".join(names)), 1), entries)


def sha(name: str) -> str:
    return f"{sum(map(ord, name)):064x}"


def engine() -> Any:
    package = ActionInput.of("package", files("engine.json", "engine.pt2"), "package")
    room = "enginewright.products.toy"
    opened = (f"{room}.product", f"{room}.backend")
    candidate = SimpleNamespace(inputs=(package,), room=room, modules=opened, limits={})
    source = SimpleNamespace(task=TASK.name, length=None)
    kind = SimpleNamespace(room=room, measured_in="toy_validate")
    return SimpleNamespace(packaged=candidate, built=SimpleNamespace(source=source), kind=kind)


def accuracy(facts: str = "null", **fields: Any) -> ActionRequest:
    target = EngineTestTarget({"engine": ":x", "device": "NVIDIA H200", **fields}, HERE)
    reference = Reference(
        (ActionInput.of("weights", files("model.safetensors"), "reference"),), TASK
    )
    return plan_accuracy(target, engine(), reference, files("dataset.txt"), facts)


def test_the_engine_itself_is_measured_against_float64_on_the_named_gpu() -> None:
    planned = accuracy(max_perplexity_increase=0.005, max_error_ratio=1.5)
    parameters = json.loads(planned.parameters)
    assert parameters["device"] == "NVIDIA H200"
    assert parameters["measurement"]["reference_dtype"] == "float64"
    assert parameters["measurement"]["reference_device"] == "cuda"
    assert parameters["thresholds"]["max_perplexity_increase"] == 0.005
    assert parameters["max_error_ratio"] == 1.5
    assert [item.role for item in planned.inputs] == ["package", "weights", "dataset"]
    assert planned.environment == "toy_validate"
    assert planned.modules == (
        "enginewright.tasks.text_generation.on_device",
        "enginewright.products.toy.product",
        "enginewright.products.toy.backend",
    )


def test_name_driver_and_clocks_of_the_gpu_are_in_the_key() -> None:
    first, second = accuracy(FACTS), accuracy(FACTS.replace("580.159.04", "590.1"))
    assert json.loads(first.parameters)["found"] == json.loads(FACTS)
    assert first.parameters != second.parameters


def test_a_benchmark_says_lengths_warm_up_and_repeats() -> None:
    target = EngineBenchmarkTarget(
        {"engine": ":x", "device": "NVIDIA H200", "batches": [1, 8], "min_tokens_per_second": 10},
        HERE,
    )
    parameters = json.loads(plan_benchmark(target, engine(), None, "null").parameters)
    assert parameters["speed"] == {
        "batches": [1, 8],
        "prompt_tokens": 16,
        "new_tokens": 256,
        "warmup": 2,
        "repeats": 5,
    }
    assert parameters["min_tokens_per_second"] == 10
    assert parameters["max_load_seconds"] is None


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        (EngineTestTarget, {"device": "G"}, "`device` needs the fields `reference`"),
        (
            EngineTestTarget,
            {"device": "G", "reference": ":r", "dataset": ":d", "reproducible": True},
            "`reproducible` goes without `device`",
        ),
        (
            EngineTestTarget,
            {"reference": ":r", "dataset": ":d", "max_error_ratio": 2},
            "`max_error_ratio` needs the field `device`",
        ),
        (
            EngineBenchmarkTarget,
            {"device": "G", "baselines": ["eager"]},
            "`baselines` needs the field `reference`",
        ),
        (
            EngineBenchmarkTarget,
            {"device": "G", "min_speedup": 1},
            "`min_speedup` needs the field `baselines`",
        ),
    ],
)
def test_fields_that_do_not_go_together(kind: Any, fields: Dict[str, Any], words: str) -> None:
    (problem,) = kind({"engine": ":x", **fields}, HERE).problems()
    assert words in problem


def test_a_task_that_nothing_measures_on_a_device_is_refused() -> None:
    target = EngineTestTarget({"engine": ":x", "device": "G"}, HERE)
    with pytest.raises(InvalidTargetException) as caught:
        raise_if_not_measurable(target, TASKS["feature-extraction"])
    assert "text-generation-with-past" in str(caught.value)


def run_with(device: LocalDevice) -> TestedOnDevice:
    """What the rule answers where it asks for nothing after the device."""
    target = EngineTestTarget({"engine": ":x", "device": "NVIDIA H200"}, HERE)
    rule: Any = run_on_device(TestOnDevice(HERE), 1)  # type: ignore[arg-type]
    rule.send(None)
    rule.send(SimpleNamespace(target=target))
    try:
        rule.send(device)
    except StopIteration as finished:
        tested: TestedOnDevice = finished.value
        return tested
    raise AssertionError("it went on to build and load the engine")


def test_another_gpu_is_refused_by_name_before_anything_is_built_or_loaded() -> None:
    step: Any = SimpleNamespace(metadata=object())
    tested = run_with(LocalDevice("NVIDIA L4", "", "{}", step))
    assert tested.exit_code == 1
    assert "NVIDIA H200" in tested.stderr
    assert "NVIDIA L4" in tested.stderr


def test_without_a_gpu_the_test_is_skipped_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    step: Any = None
    tested = run_with(LocalDevice(None, "NVML Shared Library Not Found", "null", step))
    options: Any = SimpleNamespace(output=ShowOutput.ALL)
    field_set: Any = SimpleNamespace(address=HERE)
    with caplog.at_level(logging.WARNING):
        result = finish_device_test(field_set, options, tested)
    assert result.exit_code is None
    assert caplog.messages == [
        "engines:device: SKIPPED, no NVIDIA H200 here: NVML Shared Library Not Found"
    ]


def part(*weights: str) -> KitPart:
    step = ActionRequest.create(
        "measure_on_device",
        address=HERE,
        inputs=[
            ActionInput.of("package", files("engine.pt2", *weights)),
            ActionInput.of("weights", files(*weights), "reference"),
        ],
    )
    wheels = files("torch-2.11.0-cp311-none-any.whl", "nvidia_ml_py-13.6-py3-none-any.whl")
    return KitPart(step, files("enginewright/a.py"), wheels)


def names(found: List[File]) -> List[str]:
    return [file.path for file in found]


def test_a_kit_has_each_file_once_and_the_wheels_that_were_named() -> None:
    parameters, found = plan_kit(
        [part("w.safetensors"), part("w.safetensors")], ["nvidia-ml-py"], [], 7
    )
    wheel = "nvidia_ml_py-13.6-py3-none-any.whl"
    wanted = ["engine.pt2", "w.safetensors", "enginewright/a.py", wheel]
    assert names(found) == sorted(map(sha, wanted))
    assert parameters["wheels"] == {wheel: sha(wheel)}
    assert parameters["locked"] == {"torch": "2.11.0", "nvidia-ml-py": "13.6"}
    assert parameters["library"] == {"enginewright/a.py": sha("enginewright/a.py")}
    assert parameters["part_bytes"] == 7
    first, _ = parameters["tests"]
    assert first["inputs"] == {
        "inputs/package/engine.pt2": sha("engine.pt2"),
        "inputs/package/w.safetensors": sha("w.safetensors"),
        "inputs/reference/w.safetensors": sha("w.safetensors"),
    }


def test_files_that_are_left_out_are_named_by_their_content() -> None:
    parameters, found = plan_kit([part("w.safetensors")], [], ["*.safetensors"], 7)
    assert {*parameters["left_out"]} == {sha("w.safetensors")}
    assert sha("w.safetensors") not in names(found)
    assert parameters["sizes"][sha("w.safetensors")] == len("w.safetensors")


def test_versions_are_read_from_the_names_of_wheels() -> None:
    wheels = files("Foo_Bar-1.0+cu130-cp311-cp311-linux_x86_64.whl").entries
    assert locked_versions(wheels) == {"foo-bar": "1.0+cu130"}
