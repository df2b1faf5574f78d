"""What an engine is compared with: a checkpoint, or the file that it was made of."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass
from typing import Any, Iterable, Tuple

from pants.engine.rules import Get, collect_rules, rule
from pants.engine.unions import union
from pants.util.frozendict import FrozenDict

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Kind
from pants_enginewright.compat import EnvironmentName
from pants_enginewright.models import checkpoint, onnx_file
from pants_enginewright.models.checkpoint import Checkpoint, CheckpointRequest
from pants_enginewright.models.onnx_file import Original, OriginalRequest
from pants_enginewright.models.onnx_file_targets import OnnxDataField, OnnxSourceField
from pants_enginewright.models.targets import ConfigField, WeightsField
from pants_enginewright.models.tasks import ANY_GRAPH, Task
from pants_enginewright.steps.action import ActionInput
from pants_enginewright.steps.files import ComposeFiles, Files

SAME_NAMES: FrozenDict[str, str] = FrozenDict()


@dataclass(frozen=True)
class Reference:
    inputs: Tuple[ActionInput, ...]
    """Of the step that measures."""
    task: Task
    """What the engine is measured as."""
    names: FrozenDict[str, str] = SAME_NAMES
    """Name in the engine of inputs and outputs that the reference calls otherwise."""
    needs_dataset: bool = True
    """Whether there is nothing to feed without one."""


@union(in_scope_types=[EnvironmentName])
@dataclass(frozen=True)
class ReferenceKind(Kind, metaclass=ABCMeta):
    """Subclass for a kind of target to compare with, and list `*X.rules()`.

    One rule takes the subclass to `FoundReference`.
    """


@dataclass(frozen=True)
class FoundReference:
    inputs: Tuple[ActionInput, ...]
    others: Files
    """Files beside the model, of which a task may read some."""
    is_file: bool
    names: FrozenDict[str, str] = SAME_NAMES


@dataclass(frozen=True)
class CheckpointReference(ReferenceKind):
    """A `model_checkpoint` target."""

    required_fields = (ConfigField, WeightsField)


@dataclass(frozen=True)
class FileReference(ReferenceKind):
    """An `onnx_file` target."""

    required_fields = (OnnxSourceField, OnnxDataField)


@rule
async def find_checkpoint(fields: CheckpointReference) -> FoundReference:
    named = CheckpointRequest.by_user(fields.address)
    reference = await Get(Checkpoint, CheckpointRequest, named)
    inputs = (
        ActionInput.of("config", reference.config, "reference"),
        ActionInput.of("weights", reference.weights, "reference"),
    )
    others = (*reference.tokenizer.entries, *reference.beside.entries)
    return FoundReference(inputs, await Get(Files, ComposeFiles(others)), is_file=False)


@rule
async def find_file(fields: FileReference) -> FoundReference:
    original = await Get(Original, OriginalRequest, OriginalRequest.by_user(fields.address))
    inputs = (ActionInput.of("original", original.files),)
    names = FrozenDict(thaw(original.fields.names.value))
    return FoundReference(inputs, Files(), is_file=True, names=names)


async def find_reference(named: NamedTarget, task: Task) -> Reference:
    """For an engine of `task`; to be awaited by a rule."""
    found = await Get(TargetOfKind, TargetOfKindRequest, named.of_kind(ReferenceKind))
    reference = await Get(FoundReference, ReferenceKind, found.of(ReferenceKind))
    if reference.is_file:
        return Reference(reference.inputs, ANY_GRAPH, reference.names, needs_dataset=False)
    others = await Get(
        Files, ComposeFiles(tuple(f for f in reference.others.entries if task.is_read(f.name)))
    )
    tokenizer = ActionInput.of("tokenizer", others, "reference")
    return Reference((*reference.inputs, tokenizer), task)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *CheckpointReference.rules(),
        *FileReference.rules(),
        *checkpoint.rules(),
        *onnx_file.rules(),
    )
