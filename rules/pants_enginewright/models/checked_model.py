"""An ONNX model that has passed a check: of its graph, without the weights, or of its weights."""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass
from typing import Any, Iterable, Optional

from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright import canonical_json
from pants_enginewright.build_files.kind import Steps
from pants_enginewright.models import onnx_model
from pants_enginewright.models.onnx_model import OnnxModel, OnnxModelRequest
from pants_enginewright.steps import action
from pants_enginewright.steps.action import (
    ActionFailed,
    ActionInput,
    ActionRequest,
    ActionResult,
)
from pants_enginewright.steps.suspicion import came_from_cache, describe_suspicion

logger = logging.getLogger(__name__)

CHECKS = Steps.of("check_graph", "check_weights", environments=("onnx",))


@dataclass(frozen=True)
class CheckGraph:
    """Asks that the structure of a model is checked."""

    model: OnnxModelRequest
    reader: Optional[str] = None
    """Canonical JSON: what a product reads of ONNX, or its name in the library's table."""

    def plan(self, model: OnnxModel) -> ActionRequest:
        return ActionRequest.create(
            "check_graph",
            address=model.address,
            environment="onnx",
            inputs=[
                ActionInput.of("model", model.graph, "model"),
                ActionInput.of("record", model.record),
            ],
            parameters={
                "dynamic_axes": list(model.axes),
                "dtype": model.dtype,
                "reader": None if self.reader is None else canonical_json.loads(self.reader),
                "length": model.length,
            },
        )


@dataclass(frozen=True)
class CheckWeights:
    """Asks that the weights of a model are read once from end to end."""

    model: OnnxModelRequest

    def plan(self, model: OnnxModel) -> ActionRequest:
        return ActionRequest.create(
            "check_weights",
            address=model.address,
            environment="onnx",
            inputs=[
                ActionInput.of("model", model.graph, "model"),
                ActionInput.of("data", model.data, "model"),
            ],
            parameters={"dtype": model.dtype},
        )


@dataclass(frozen=True)
class CheckedGraph:
    request: OnnxModelRequest
    """Asks for the model that passed, which may be another than the caches had."""
    model: OnnxModel
    step: ActionResult


@dataclass(frozen=True)
class CheckedWeights:
    model: OnnxModel
    step: ActionResult


async def model_afresh(
    request: OnnxModelRequest, model: OnnxModel, failed: ActionFailed
) -> OnnxModel:
    """The model, made past all caches, where it differs from what these gave; else raise."""
    if request.fresh or not came_from_cache(step.metadata for step in model.steps):
        raise failed
    logger.warning(describe_suspicion(str(model.address), str(failed)))
    again = await Get(OnnxModel, OnnxModelRequest, dataclasses.replace(request, fresh=True))
    if again.inputs == model.inputs:
        raise failed
    return again


@rule
async def check_graph(request: CheckGraph) -> CheckedGraph:
    named = request.model
    model = await Get(OnnxModel, OnnxModelRequest, named)
    try:
        step = await Get(ActionResult, ActionRequest, request.plan(model))
    except ActionFailed as failed:
        model = await model_afresh(named, model, failed)
        named = dataclasses.replace(named, fresh=True)
        step = await Get(ActionResult, ActionRequest, request.plan(model))
    return CheckedGraph(named, model, step)


@rule
async def check_weights(request: CheckWeights) -> CheckedWeights:
    model = await Get(OnnxModel, OnnxModelRequest, request.model)
    try:
        step = await Get(ActionResult, ActionRequest, request.plan(model))
    except ActionFailed as failed:
        model = await model_afresh(request.model, model, failed)
        step = await Get(ActionResult, ActionRequest, request.plan(model))
    return CheckedWeights(model, step)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *onnx_model.rules(),
        *action.rules(),
    )
