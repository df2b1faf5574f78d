"""`engine_test`: what an engine has to prove."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import (
    HydratedSources,
    HydrateSourcesRequest,
    InvalidTargetException,
    SingleSourceField,
    Target,
)
from pants.engine.unions import union

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.kind import Kind, Steps
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.engines.product import Candidate
from pants_enginewright.models.model_source import ModelSource
from pants_enginewright.models.tasks import TASKS, Task, modules
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Data, Files, ListData
from pants_enginewright.validation import checked_package
from pants_enginewright.validation import reference as references
from pants_enginewright.validation.checked_package import CheckedPackage, CheckPackage
from pants_enginewright.validation.reference import Reference, find_reference
from pants_enginewright.validation.targets import (
    BOUNDS,
    DatasetField,
    DatasetSourceField,
    EngineField,
    MaxLengthField,
    MaxSamplesField,
    ReferenceField,
    ReproducibleField,
    ShapesField,
    TensorDatasetSourceField,
)


@dataclass(frozen=True)
class EngineTestKind(Kind):
    """An `engine_test` target."""

    required_fields = (EngineField, ReproducibleField)

    @property
    def steps(self) -> Steps:
        own = ("check_engine", "measure_accuracy", "judge_accuracy", "compare_builds")
        # The task of an engine is not known before its model is.
        return Steps.of(*own, environments=("validate", "onnx")) + Steps(modules("measure"))


@union
@dataclass(frozen=True)
class DatasetKind(Kind, metaclass=ABCMeta):
    """Subclass for a kind of target that tasks are measured with, and list `*X.rules()`."""

    source: SingleSourceField


@dataclass(frozen=True)
class TextDatasetKind(DatasetKind):
    """A `text_dataset` target."""

    required_fields = (DatasetSourceField,)

    source: DatasetSourceField


@dataclass(frozen=True)
class TensorDatasetKind(DatasetKind):
    """A `tensor_dataset` target."""

    required_fields = (TensorDatasetSourceField,)

    source: TensorDatasetSourceField


@dataclass(frozen=True)
class ValidationRequest(NamedTarget):
    """Asks what an `engine_test` target proves."""


@dataclass(frozen=True)
class Validation:
    report: Files
    """Empty where the test compares with no reference."""
    text: str
    steps: Tuple[ActionResult, ...]


@dataclass(frozen=True)
class AccuracyRequest:
    target: Target
    engine: Engine


@dataclass(frozen=True)
class Accuracy:
    measured: ActionResult
    judged: ActionResult


@dataclass(frozen=True)
class DatasetRequest:
    target: Target
    task: Task
    is_required: bool


@dataclass(frozen=True)
class Dataset:
    file: Optional[Files]
    """None where the test names none."""


@dataclass(frozen=True)
class RebuildRequest:
    engine: Engine


@dataclass(frozen=True)
class Rebuild:
    second: ActionResult
    compared: ActionResult


@rule(desc="Validate an engine")
async def validate_engine(request: ValidationRequest) -> Validation:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(EngineTestKind))
    target = found.target
    named = EngineRequest.by_field(target[EngineField])
    package = await Get(CheckedPackage, CheckPackage(target.address, named))
    engine, steps, text = package.engine, (*package.engine.steps, *package.steps), package.text
    report = Files()
    if target[ReferenceField].value is not None:
        accuracy = await Get(Accuracy, AccuracyRequest(target, engine))
        steps = (*steps, accuracy.measured, accuracy.judged)
        report = await Get(
            Files,
            ComposeFiles,
            ComposeFiles.named(accuracy.judged.files.entries, "report.json", "report.txt"),
        )
        text += accuracy.judged.log
    if target[ReproducibleField].value:
        rebuild = await Get(Rebuild, RebuildRequest(engine))
        steps = (*steps, rebuild.second, rebuild.compared)
        for file in engine.built.artifacts.entries:
            text += f"built twice, same bytes: {file.path}, sha256 {file.sha256}\n"
    return Validation(report, text, steps)


@rule(desc="Measure the accuracy of an engine's model")
async def measure_accuracy(request: AccuracyRequest) -> Accuracy:
    target, engine = request.target, request.engine
    candidate = engine.candidate
    if candidate is None:
        raise InvalidTargetException(
            f"{target.address}: field `{ReferenceField.alias}` asks for a comparison, and "
            f"{engine.address} runs on a device alone; name one in the field `device`"
        )
    reference = await find_reference(
        NamedTarget.by_field(target[ReferenceField]), TASKS[engine.built.source.task]
    )
    task = reference.task
    dataset = await Get(Dataset, DatasetRequest(target, task, reference.needs_dataset))
    served = engine.built.source.serving.entries
    beside = await Get(Files, ComposeFiles(tuple(f for f in served if task.is_read(f.name))))
    measured = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "measure_accuracy",
            address=target.address,
            environment=engine.kind.measured_in,
            inputs=[
                *candidate.inputs,
                # A package has what is served with it.
                *(() if engine.runs_here else (ActionInput.of("serving", beside),)),
                *reference.inputs,
                *(() if dataset.file is None else (ActionInput.of("dataset", dataset.file),)),
            ],
            parameters=plan_measurement(target, engine.built.source, candidate, reference),
            modules=(task.module("measure"), *candidate.modules),
        ),
    )
    measurements = await Get(
        Files, ComposeFiles, ComposeFiles.named(measured.files.entries, "measurements.json")
    )
    judged = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "judge_accuracy",
            address=target.address,
            inputs=[ActionInput.of("measurements", measurements)],
            parameters={field.alias: target[field].value for field in BOUNDS},
        ),
    )
    return Accuracy(measured, judged)


@rule
async def find_dataset(request: DatasetRequest) -> Dataset:
    target, task = request.target, request.task
    if target[DatasetField].value is None:
        if request.is_required:
            raise InvalidTargetException(
                f"{target.address}: field `{DatasetField.alias}` is required for a comparison with "
                f"a checkpoint; expected the address of a `{task.dataset}` target"
            )
        return Dataset(None)
    named = NamedTarget.by_field(target[DatasetField])
    found = await Get(TargetOfKind, TargetOfKindRequest, named.of_kind(DatasetKind))
    raise_if_other_dataset(task, target, found.target)
    source = found.of(DatasetKind).source
    hydrated = await Get(HydratedSources, HydrateSourcesRequest(source))
    listed = await Get(Data, ListData(hydrated.snapshot.digest))
    (file,) = listed.files.entries
    ending = file.name.rpartition(".")[2]
    return Dataset(await Get(Files, ComposeFiles((file.at(f"dataset.{ending}"),))))


def raise_if_other_dataset(task: Task, test: Target, dataset: Target) -> None:
    """Raise unless the dataset is one that the engine's task is measured with."""
    if dataset.alias != task.dataset:
        raise InvalidTargetException(
            f"field `{DatasetField.alias}` of {test.address} names {dataset.address}, which is a "
            f"`{dataset.alias}` target; expected a `{task.dataset}` target for the task "
            f"{task.name!r}"
        )


def plan_measurement(
    target: Target, source: ModelSource, candidate: Candidate, reference: Reference
) -> Dict[str, Any]:
    """Parameters of `measure_accuracy`: how much is measured, and what the engine allows."""
    return {
        "task": reference.task.name,
        "limits": dict(candidate.limits),
        "room": candidate.room,
        "positions": None if source.length is None else source.length.tokens,
        "max_length": target[MaxLengthField].value,
        "max_samples": target[MaxSamplesField].value,
        # What no dataset decides.
        "shapes": plan_shapes(target, candidate, reference),
        "names": dict(reference.names),
    }


def plan_shapes(target: Target, candidate: Candidate, reference: Reference) -> List[Dict[str, int]]:
    """Sizes of the axes of each call, where nothing else decides them.

    Raise for sizes that no profile of the engine has.
    """
    wanted = target[ShapesField].value
    if reference.needs_dataset:
        if wanted:
            raise InvalidTargetException(
                f"{target.address}: field `{ShapesField.alias}` is for a comparison with an ONNX "
                "file; with a checkpoint, its dataset decides"
            )
        return []
    if target[DatasetField].value is not None:
        return []
    if wanted and candidate.shapes:
        for axis, size in (pair for row in wanted for pair in row.items()):
            sizes = [row[axis] for row in candidate.shapes if axis in row]
            if sizes and not min(sizes) <= size <= max(sizes):
                raise InvalidTargetException(
                    f"{target.address}: field `{ShapesField.alias}` has {size} for axis {axis!r}; "
                    f"expected {min(sizes)} to {max(sizes)}, which the engine takes"
                )
    return [dict(row) for row in wanted or candidate.shapes]


def plan_comparison(address: Address, first: Files, second: Files) -> ActionRequest:
    return ActionRequest.create(
        "compare_builds",
        address=address,
        environment="onnx",
        inputs=[ActionInput.of("first", first), ActionInput.of("second", second)],
    )


@rule(desc="Build an engine a second time")
async def build_again(request: RebuildRequest) -> Rebuild:
    engine = request.engine
    second = await Get(ActionResult, ActionRequest, engine.built.build.again())
    names = [file.path for file in engine.built.artifacts.entries]
    files = await MultiGet(
        Get(Files, ComposeFiles, ComposeFiles.named(entries, *names))
        for entries in (engine.package.entries, second.files.entries)
    )
    comparison = plan_comparison(engine.address, *files)
    return Rebuild(second, await Get(ActionResult, ActionRequest, comparison))


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *EngineTestKind.rules(),
        *TensorDatasetKind.rules(),
        *TextDatasetKind.rules(),
        *checked_package.rules(),
        *references.rules(),
    )
