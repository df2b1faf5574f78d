"""`quantized_model`: integer weights in place of those of an `onnx_model`."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Iterable

from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import Target

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.build_file import CheckBuildFile, CheckedBuildFile
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.models.onnx_model import (
    ExportedModel,
    ExportModel,
    QuantizedModel,
    QuantizeModel,
)
from pants_enginewright.models.targets import (
    GroupSizeField,
    KeepField,
    MethodField,
    OnnxModelTarget,
    QuantizedModelSourceField,
)
from pants_enginewright.steps.action import ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files


def plan_scheme(target: Target) -> Dict[str, Any]:
    """How the weights are quantized: parameters of the step."""
    return {
        "method": target[MethodField].value,
        "group_size": target[GroupSizeField].value,
        "keep": thaw(target[KeepField].value),
    }


@rule(desc="Quantize a model")
async def quantize_model(request: QuantizeModel) -> QuantizedModel:
    target = request.target
    named = NamedTarget.by_field(target[QuantizedModelSourceField])
    found = await Get(TargetOfKind, TargetOfKindRequest, named.of_kind(OnnxModelTarget.alias))
    await Get(CheckedBuildFile, CheckBuildFile(found.target.address.spec_path))
    exported = await Get(ExportedModel, ExportModel(found.target))
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "quantize_model",
            address=target.address,
            environment="onnx",
            inputs=exported.model.inputs,
            parameters=plan_scheme(target),
        ),
    )
    model = await Get(Files, ComposeFiles, ComposeFiles.under("model", result.files))
    graph = await Get(Files, ComposeFiles, ComposeFiles.named(model.entries, "model.onnx"))
    names = result.parsed()["external_data"]
    data = await Get(Files, ComposeFiles, ComposeFiles.named(model.entries, *names))
    return QuantizedModel(
        dataclasses.replace(
            exported.model,
            address=target.address,
            graph=graph,
            data=data,
            steps=(*exported.model.steps, result),
            quantization=result,
        )
    )


def rules() -> Iterable[Any]:
    return collect_rules()
