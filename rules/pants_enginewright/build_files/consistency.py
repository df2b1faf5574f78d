"""Fields of one target against each other."""

from __future__ import annotations

from typing import Iterator

from pants.engine.target import Target

from pants_enginewright.models.targets import (
    DistributionField,
    DynamicAxesField,
    ExporterField,
    FilesField,
    GroupSizeField,
    LogitsField,
    MethodField,
    ModelCheckpointTarget,
    OnnxModelTarget,
    QuantizedModelTarget,
    TaskField,
)
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.validation.targets import (
    BOUNDS,
    DatasetField,
    EngineTestTarget,
    ReferenceField,
)


def problems_of(target: Target) -> Iterator[str]:
    if isinstance(target, OnnxModelTarget):
        yield from _onnx_model(target)
    elif isinstance(target, QuantizedModelTarget):
        yield from _quantized_model(target)
    elif isinstance(target, EngineTestTarget):
        yield from _engine_test(target)
    elif isinstance(target, ModelCheckpointTarget) and (
        target[DistributionField].value and target[FilesField].value
    ):
        yield "fields `distribution` and `files` are both set; expected one of them at most"


def _onnx_model(target: Target) -> Iterator[str]:
    name = target[TaskField].value
    task = TASKS.get(name)
    if target[ExporterField].value == "direct":
        if task is not None and not task.is_decoder:
            yield (
                f"field `task` has value {name!r}; exporter 'direct' has only decoders: use 'torch'"
            )
        if target[DynamicAxesField].value != DynamicAxesField.default:
            yield "field `dynamic_axes` is for exporter 'torch'; 'direct' leaves all axes dynamic"
        return
    if task is not None and task.has_cache:
        yield f"field `task` has value {name!r}; expected exporter 'direct' for a KV cache"
    if target[LogitsField].value == "last":
        yield "field `logits` has value 'last'; expected exporter 'direct' for it"


def _quantized_model(target: Target) -> Iterator[str]:
    method, group_size = target[MethodField].value, target[GroupSizeField].value
    if method == "int4" and group_size is None:
        yield f"field `group_size` is required for method 'int4'; expected {GroupSizeField.choices}"
    if method == "int8" and group_size is not None:
        yield "field `group_size` is for method 'int4'; 'int8' has one scale for each channel"


def _engine_test(target: Target) -> Iterator[str]:
    bounds = [field.alias for field in BOUNDS if target[field].value is not None]
    reference, dataset = target[ReferenceField].value, target[DatasetField].value
    if (reference is None) != (dataset is None):
        absent = "reference" if reference is None else "dataset"
        yield f"field `{absent}` is required: a comparison needs both `reference` and `dataset`"
    elif bounds and reference is None:
        names = ", ".join(f"`{name}`" for name in bounds)
        yield f"fields {names} need the fields `reference` and `dataset`"
    elif reference is not None and not bounds:
        names = ", ".join(f"`{field.alias}`" for field in BOUNDS)
        yield f"a comparison without a bound cannot fail; set at least one of {names}"
