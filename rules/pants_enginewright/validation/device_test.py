"""Tests of an engine on the GPU that it is for: the step that runs there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple

from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import InvalidTargetException, Target

from pants_enginewright import canonical_json
from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Kind, Steps
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.models.checkpoint import Checkpoint, CheckpointRequest
from pants_enginewright.models.tasks import TASKS, Task, device_modules
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import Files
from pants_enginewright.validation import checked_package, validation
from pants_enginewright.validation.benchmark_targets import (
    BENCHMARK_BOUNDS,
    BaselinesField,
    BatchesField,
    NewTokensField,
    PromptTokensField,
    RepeatsField,
    WarmupField,
)
from pants_enginewright.validation.checked_package import CheckedPackage, CheckPackage
from pants_enginewright.validation.reference import Reference, find_reference
from pants_enginewright.validation.targets import (
    BOUNDS,
    DeviceField,
    EngineField,
    MaxErrorRatioField,
    ReferenceField,
)
from pants_enginewright.validation.validation import Dataset, DatasetRequest, plan_measurement

NOBODY = "null"
"""Facts of a GPU that is not known yet."""


@dataclass(frozen=True)
class DeviceTestKind(Kind):
    """An `engine_test` with a `device`, or an `engine_benchmark`."""

    required_fields = (EngineField, DeviceField)

    device: DeviceField

    @property
    def steps(self) -> Steps:
        if self.device.value is None:
            return Steps()
        own = ("check_engine", "find_device", "measure_on_device", "benchmark_on_device")
        return Steps.of(*own, environments=("host",)) + Steps(device_modules())


@dataclass(frozen=True)
class DeviceTestRequest(NamedTarget):
    """Asks for the step of a test on a device."""

    facts: str = NOBODY
    """Canonical JSON: of the GPU that it will run on. They are in the key."""


@dataclass(frozen=True)
class DeviceTest:
    step: ActionRequest
    steps: Tuple[ActionResult, ...]
    """What ran before it: the engine's, and the check of its package."""


def plan_accuracy(
    target: Target, engine: Engine, reference: Reference, dataset: Files, facts: str
) -> ActionRequest:
    candidate = engine.packaged
    measurement = {
        **plan_measurement(target, engine.built.source, candidate, reference),
        "reference_dtype": "float64",
        "reference_device": "cuda",
    }
    return ActionRequest.create(
        "measure_on_device",
        address=target.address,
        environment=engine.kind.measured_in,
        inputs=[*candidate.inputs, *reference.inputs, ActionInput.of("dataset", dataset)],
        parameters={
            "device": target[DeviceField].value,
            "measurement": measurement,
            "thresholds": {field.alias: target[field].value for field in BOUNDS},
            "max_error_ratio": target[MaxErrorRatioField].value,
            "found": canonical_json.loads(facts),
        },
        modules=(reference.task.module("on_device"), *candidate.modules),
    )


def plan_benchmark(
    target: Target, engine: Engine, reference: Optional[Checkpoint], facts: str
) -> ActionRequest:
    candidate, task = engine.packaged, TASKS[engine.built.source.task]
    counts = (PromptTokensField, NewTokensField, WarmupField, RepeatsField)
    speed: Dict[str, Any] = {field.alias: target[field].value for field in counts}
    inputs = [*candidate.inputs]
    if reference is not None:
        inputs.append(ActionInput.of("config", reference.config, "reference"))
        inputs.append(ActionInput.of("weights", reference.weights, "reference"))
    return ActionRequest.create(
        "benchmark_on_device",
        address=target.address,
        environment=engine.kind.measured_in,
        inputs=inputs,
        parameters={
            "device": target[DeviceField].value,
            "task": task.name,
            "room": engine.kind.room,
            "speed": {"batches": thaw(target[BatchesField].value), **speed},
            "baselines": thaw(target[BaselinesField].value),
            **{field.alias: target[field].value for field in BENCHMARK_BOUNDS},
            "found": canonical_json.loads(facts),
        },
        modules=(task.module("speed"), *candidate.modules),
    )


def raise_if_not_measurable(target: Target, task: Task) -> None:
    """Raise for a task that nothing measures on a device."""
    if not task.runs_on_device:
        able = ", ".join(sorted(task.name for task in TASKS.values() if task.runs_on_device))
        raise InvalidTargetException(
            f"{target.address}: the engine's task is {task.name!r}; engines of these tasks are "
            f"measured on a device: {able}"
        )


@rule(desc="Plan a test on a device")
async def plan_device_test(request: DeviceTestRequest) -> DeviceTest:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(DeviceTestKind))
    target = found.target
    named = EngineRequest.by_field(target[EngineField])
    package = await Get(CheckedPackage, CheckPackage(target.address, named))
    engine = package.engine
    task = TASKS[engine.built.source.task]
    raise_if_not_measurable(target, task)
    steps = (*engine.steps, *package.steps)
    if not target.has_field(BatchesField):
        reference = await find_reference(NamedTarget.by_field(target[ReferenceField]), task)
        raise_if_not_measurable(target, reference.task)
        dataset = await Get(Dataset, DatasetRequest(target, task, is_required=True))
        assert dataset.file is not None  # for the type checker: it was required
        step = plan_accuracy(target, engine, reference, dataset.file, request.facts)
        return DeviceTest(step, steps)
    checkpoint = None
    if target[ReferenceField].value is not None:
        checkpoint = await Get(
            Checkpoint, CheckpointRequest, CheckpointRequest.by_field(target[ReferenceField])
        )
    return DeviceTest(plan_benchmark(target, engine, checkpoint, request.facts), steps)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *DeviceTestKind.rules(),
        *checked_package.rules(),
        *validation.rules(),
    )
