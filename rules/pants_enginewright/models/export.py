"""`onnx_model`: a checkpoint exported to ONNX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Tuple, Union

from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Steps
from pants_enginewright.models import checkpoint as checkpoints
from pants_enginewright.models import onnx_model
from pants_enginewright.models.checkpoint import Checkpoint, CheckpointRequest
from pants_enginewright.models.graph import Graph, GraphRequest
from pants_enginewright.models.onnx_model import (
    MadeModel,
    MakePlainModel,
    OnnxModel,
    ReplacedSubgraphs,
)
from pants_enginewright.models.targets import (
    CheckpointField,
    DtypeField,
    ExporterField,
    LogitsField,
    OpsetField,
    PluginsField,
    TaskField,
)
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files


@dataclass(frozen=True)
class ExportModel(MakePlainModel):
    """An `onnx_model` target."""

    required_fields = (CheckpointField, ExporterField)

    checkpoint: CheckpointField
    task: TaskField
    dtype: DtypeField
    opset: OpsetField
    exporter: ExporterField
    logits: LogitsField
    plugins: PluginsField

    @property
    def is_direct(self) -> bool:
        return bool(self.exporter.value == "direct")

    @property
    def traced(self) -> Tuple[str, ...]:
        """What the step that traces imports by the name of the task."""
        task = TASKS.get(self.task.value)
        return () if task is None or self.is_direct else (task.module("torch_module"),)

    @property
    def steps(self) -> Steps:
        replacing = Steps()
        if self.plugins.value:
            replacing = Steps.of("replace_subgraphs", environments=("onnx",))
        if self.is_direct:
            direct = Steps.of("export_direct", "convert_weights", environments=("onnx",))
            return direct + replacing
        return Steps.of("export_onnx", environments=("export",)) + Steps(self.traced) + replacing


@dataclass(frozen=True)
class ExportWithTorch:
    fields: ExportModel
    checkpoint: Checkpoint


@dataclass(frozen=True)
class ExportDirect:
    fields: ExportModel
    checkpoint: Checkpoint


@dataclass(frozen=True)
class TorchExport:
    model: OnnxModel


@dataclass(frozen=True)
class DirectExport:
    model: OnnxModel


@dataclass(frozen=True)
class ReplaceSubgraphs:
    model: OnnxModel
    plugins: Tuple[str, ...]
    fresh: bool


@dataclass(frozen=True)
class ReplacedModel:
    model: OnnxModel


@rule(desc="Export to ONNX")
async def export_onnx_model(fields: ExportModel) -> MadeModel:
    checkpoint = await Get(
        Checkpoint, CheckpointRequest, CheckpointRequest.by_field(fields.checkpoint)
    )
    if fields.is_direct:
        direct = await Get(DirectExport, ExportDirect(fields, checkpoint))
        model = direct.model
    else:
        traced = await Get(TorchExport, ExportWithTorch(fields, checkpoint))
        model = traced.model
    plugins = tuple(thaw(fields.plugins.value))
    if not plugins:
        return MadeModel(model)
    replaced = await Get(ReplacedModel, ReplaceSubgraphs(model, plugins, fields.fresh))
    return MadeModel(replaced.model)


@dataclass(frozen=True)
class _Replaced:
    replaced: Tuple[ReplacedSubgraphs, ...]


@rule
async def replace_subgraphs(request: ReplaceSubgraphs) -> ReplacedModel:
    model = request.model
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "replace_subgraphs",
            address=model.address,
            environment="onnx",
            inputs=[ActionInput.of("model", model.graph, "model")],
            parameters={"plugins": list(request.plugins), "mode": "kernel"},
            fresh=request.fresh,
        ),
    )
    made = await Get(Graph, GraphRequest(result, model.data))
    replaced = result.read(_Replaced).replaced
    steps = (*model.steps, result)
    return ReplacedModel(model.with_graph(made, replaced=replaced, steps=steps))


@rule
async def export_with_torch(request: ExportWithTorch) -> TorchExport:
    fields, checkpoint = request.fields, request.checkpoint
    recipe = []
    if TASKS[fields.task.value].has_recipe:
        dense = [file for file in checkpoint.beside.entries if file.name.endswith(".safetensors")]
        layers = await Get(Files, ComposeFiles(tuple(dense)))
        recipe = [
            ActionInput.of("embedding", checkpoint.embedding, "checkpoint"),
            ActionInput.of("dense", layers, "dense"),
        ]
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "export_onnx",
            address=fields.address,
            environment="export",
            inputs=[
                ActionInput.of("config", checkpoint.config, "checkpoint"),
                ActionInput.of("weights", checkpoint.weights, "checkpoint"),
                *recipe,
            ],
            parameters=_export_parameters(fields),
            modules=fields.traced,
            fresh=fields.fresh,
        ),
    )
    made = await Get(Graph, GraphRequest(result))
    return TorchExport(_model(request, "export", made, (result,)))


@dataclass(frozen=True)
class _DirectExport:
    converted: bool
    """Whether the weights are others than those of the checkpoint."""


@rule
async def export_direct(request: ExportDirect) -> DirectExport:
    fields, checkpoint = request.fields, request.checkpoint
    parameters = _export_parameters(fields)
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "export_direct",
            address=fields.address,
            environment="onnx",
            inputs=[
                ActionInput.of("config", checkpoint.config),
                ActionInput.of("descriptor", checkpoint.descriptor),
            ],
            parameters={**parameters, "logits": fields.logits.value},
            fresh=fields.fresh,
        ),
    )
    steps: Tuple[ActionResult, ...] = (result,)
    weights = checkpoint.weights
    if result.read(_DirectExport).converted:
        converted = await Get(ActionResult, ActionRequest, _conversion(fields, checkpoint))
        steps = (*steps, converted)
        weights = await Get(Files, ComposeFiles, ComposeFiles.under("weights", converted.files))
    made = await Get(Graph, GraphRequest(result, weights))
    return DirectExport(_model(request, "onnx", made, steps))


def _conversion(fields: ExportModel, checkpoint: Checkpoint) -> ActionRequest:
    return ActionRequest.create(
        "convert_weights",
        address=fields.address,
        environment="onnx",
        inputs=[
            ActionInput.of("weights", checkpoint.weights),
            ActionInput.of("descriptor", checkpoint.descriptor),
        ],
        parameters={"dtype": fields.dtype.value},
        fresh=fields.fresh,
    )


def _export_parameters(fields: ExportModel) -> Dict[str, Any]:
    return {
        "task": fields.task.value,
        "opset": fields.opset.value,
        "dtype": fields.dtype.value,
    }


def _model(
    request: Union[ExportWithTorch, ExportDirect],
    environment: str,
    made: Graph,
    steps: Tuple[ActionResult, ...],
) -> OnnxModel:
    return OnnxModel(
        request.fields.address,
        request.checkpoint.origin,
        request.fields.task.value,
        request.fields.dtype.value,
        request.fields.logits.value,
        environment,
        made.graph,
        made.data,
        made.record,
        (*request.checkpoint.steps, *steps),
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *ExportModel.rules(),
        *checkpoints.rules(),
        *onnx_model.rules(),
    )
