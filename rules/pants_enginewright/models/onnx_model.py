"""`onnx_model`: a checkpoint exported to ONNX; and what it has in common with `quantized_model`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from pants.engine.addresses import Address
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import Target

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.build_file import CheckBuildFile, CheckedBuildFile
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.models.checkpoint import Checkpoint, CheckpointRequest
from pants_enginewright.models.targets import (
    CheckpointField,
    DtypeField,
    DynamicAxesField,
    ExporterField,
    LogitsField,
    OnnxModelTarget,
    OpsetField,
    PluginsField,
    QuantizedModelTarget,
    TaskField,
)
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files

MODEL_KINDS = (OnnxModelTarget.alias, QuantizedModelTarget.alias)


@dataclass(frozen=True)
class OnnxModelRequest(NamedTarget):
    """Asks for the model of a target of `MODEL_KINDS`."""


@dataclass(frozen=True)
class OnnxModel:
    address: Address
    checkpoint: Checkpoint
    task: str
    dtype: str
    environment: str
    """Kind of the tool environment that exported it."""
    graph: Files
    """`model.onnx`."""
    data: Files
    """The files that the graph's external data lie in; they belong beside it."""
    export: ActionResult
    """Its result has opset, IR version, inputs and outputs."""
    steps: Tuple[ActionResult, ...]
    quantization: Optional[ActionResult] = None
    """Its result is the report; the graph is that of `export` with other weights."""
    replacement: Optional[ActionResult] = None
    """Its result says which subgraphs became operators of our own."""

    def plugins(self) -> List[Dict[str, Any]]:
        """Operators of our own, as `engine.json` describes them for a product without plugins."""
        if self.replacement is None:
            return []
        return [
            {
                "name": entry["plugin"],
                "count": entry["count"],
                "embedded": True,
                "implementation": "inlined: the product loads no plugins",
            }
            for entry in self.replacement.parsed()["replaced"]
        ]

    @property
    def inputs(self) -> Tuple[ActionInput, ActionInput]:
        """The whole model as input of a step, in one folder."""
        return (
            ActionInput.of("model", self.graph, "model"),
            ActionInput.of("model", self.data, "model"),
        )

    @property
    def scheme(self) -> Optional[Dict[str, Any]]:
        """How it was quantized: the fields of `quantized_model`."""
        if self.quantization is None:
            return None
        scheme = self.quantization.parsed()["scheme"]
        return {
            "method": f"int{scheme['bits']}",
            "group_size": scheme["group_size"],
            "keep": scheme["keep"],
        }

    def dynamic_axes(self) -> Dict[str, Dict[str, str]]:
        """Tensor name to position (as text) to name of each dynamic axis."""
        result = self.export.parsed()
        tensors = [*result["inputs"], *result["outputs"]]
        return {
            t["name"]: {str(i): n for i, n in enumerate(t["shape"]) if isinstance(n, str)}
            for t in tensors
        }


@dataclass(frozen=True)
class ExportModel:
    target: Target


@dataclass(frozen=True)
class ExportedModel:
    """The model of an `onnx_model` target."""

    model: OnnxModel


@dataclass(frozen=True)
class QuantizeModel:
    target: Target


@dataclass(frozen=True)
class QuantizedModel:
    """The model of a `quantized_model` target."""

    model: OnnxModel


@dataclass(frozen=True)
class ExportWithTorch:
    target: Target
    checkpoint: Checkpoint


@dataclass(frozen=True)
class ExportDirect:
    target: Target
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


@dataclass(frozen=True)
class ReplacedModel:
    model: OnnxModel


@rule
async def find_model(request: OnnxModelRequest) -> OnnxModel:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(*MODEL_KINDS))
    target = found.target
    await Get(CheckedBuildFile, CheckBuildFile(target.address.spec_path))
    if target.alias == QuantizedModelTarget.alias:
        quantized = await Get(QuantizedModel, QuantizeModel(target))
        return quantized.model
    exported = await Get(ExportedModel, ExportModel(target))
    return exported.model


@rule(desc="Export to ONNX")
async def export_onnx_model(request: ExportModel) -> ExportedModel:
    target = request.target
    checkpoint = await Get(
        Checkpoint, CheckpointRequest, CheckpointRequest.by_field(target[CheckpointField])
    )
    if target[ExporterField].value == "direct":
        direct = await Get(DirectExport, ExportDirect(target, checkpoint))
        model = direct.model
    else:
        traced = await Get(TorchExport, ExportWithTorch(target, checkpoint))
        model = traced.model
    plugins = tuple(thaw(target[PluginsField].value))
    if not plugins:
        return ExportedModel(model)
    replaced = await Get(ReplacedModel, ReplaceSubgraphs(model, plugins))
    return ExportedModel(replaced.model)


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
        ),
    )
    graph = await Get(Files, ComposeFiles, ComposeFiles.under("model", result.files))
    wanted = result.parsed()["external_data"]
    data = await Get(Files, ComposeFiles, ComposeFiles.named(model.data.entries, *wanted))
    return ReplacedModel(
        dataclasses.replace(
            model, graph=graph, data=data, replacement=result, steps=(*model.steps, result)
        )
    )


@rule
async def export_with_torch(request: ExportWithTorch) -> TorchExport:
    target, checkpoint = request.target, request.checkpoint
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "export_onnx",
            address=target.address,
            environment="export",
            inputs=[
                ActionInput.of("config", checkpoint.config, "checkpoint"),
                ActionInput.of("weights", checkpoint.weights, "checkpoint"),
            ],
            parameters=_export_parameters(target),
            modules=export_modules(target),
        ),
    )
    model = await Get(Files, ComposeFiles, ComposeFiles.under("model", result.files))
    graph = await Get(Files, ComposeFiles, ComposeFiles.named(model.entries, "model.onnx"))
    others = [file.path for file in model.entries if file.path != "model.onnx"]
    data = await Get(Files, ComposeFiles, ComposeFiles.named(model.entries, *others))
    return TorchExport(_model(request, "export", graph, data, result, (result,)))


@rule
async def export_direct(request: ExportDirect) -> DirectExport:
    target, checkpoint = request.target, request.checkpoint
    parameters = _export_parameters(target)
    del parameters["dynamic_axes"]
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "export_direct",
            address=target.address,
            environment="onnx",
            inputs=[
                ActionInput.of("config", checkpoint.config),
                ActionInput.of("descriptor", checkpoint.descriptor),
            ],
            parameters={**parameters, "logits": target[LogitsField].value},
        ),
    )
    steps: Tuple[ActionResult, ...] = (result,)
    graph = await Get(Files, ComposeFiles, ComposeFiles.under("model", result.files))
    weights = checkpoint.weights
    if result.parsed()["converted"]:
        converted = await Get(
            ActionResult, ActionRequest, _conversion(target, checkpoint, parameters["dtype"])
        )
        steps = (*steps, converted)
        weights = await Get(Files, ComposeFiles, ComposeFiles.under("weights", converted.files))
    wanted = result.parsed()["external_data"]
    data = await Get(Files, ComposeFiles, ComposeFiles.named(weights.entries, *wanted))
    return DirectExport(_model(request, "onnx", graph, data, result, steps))


def _conversion(target: Target, checkpoint: Checkpoint, dtype: str) -> ActionRequest:
    return ActionRequest.create(
        "convert_weights",
        address=target.address,
        environment="onnx",
        inputs=[
            ActionInput.of("weights", checkpoint.weights),
            ActionInput.of("descriptor", checkpoint.descriptor),
        ],
        parameters={"dtype": dtype},
    )


def export_modules(target: Target) -> Tuple[str, ...]:
    """What the step that traces imports by the name of the target's task."""
    return (TASKS[target[TaskField].value].module("torch_module"),)


def _export_parameters(target: Target) -> Dict[str, Any]:
    return {
        "task": target[TaskField].value,
        "opset": target[OpsetField].value,
        "dtype": target[DtypeField].value,
        "dynamic_axes": thaw(target[DynamicAxesField].value),
    }


def _model(
    request: Union[ExportWithTorch, ExportDirect],
    environment: str,
    graph: Files,
    data: Files,
    export: ActionResult,
    steps: Tuple[ActionResult, ...],
) -> OnnxModel:
    return OnnxModel(
        request.target.address,
        request.checkpoint,
        request.target[TaskField].value,
        request.target[DtypeField].value,
        environment,
        graph,
        data,
        export,
        (*request.checkpoint.steps, *steps),
    )


def rules() -> Iterable[Any]:
    return collect_rules()
