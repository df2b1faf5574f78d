"""The build of an engine from an ONNX model: the graph is checked before, the weights beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, MultiGet, collect_rules, rule

from pants_enginewright.build_files.kind import Steps
from pants_enginewright.engines import size_estimate
from pants_enginewright.engines.size_estimate import EstimateSize, SizeEstimate
from pants_enginewright.models import checked_model
from pants_enginewright.models.checked_model import (
    CHECKS,
    CheckedGraph,
    CheckedWeights,
    CheckGraph,
    CheckWeights,
)
from pants_enginewright.models.onnx_model import OnnxModel, OnnxModelRequest
from pants_enginewright.steps.action import ActionRequest, ActionResult

STEPS = CHECKS + Steps.of("estimate_size")


@dataclass(frozen=True)
class BuildFromModel:
    address: Address
    model: OnnxModelRequest
    step: ActionRequest
    """The step that builds; it gets the whole model, and its record, as its inputs."""
    reader: Optional[str] = None
    """Canonical JSON: what the product reads of ONNX, or its name in the library's table."""
    profiles: str = "[]"
    """Canonical JSON list of optimization profiles."""


@dataclass(frozen=True)
class ModelBuild:
    model: OnnxModel
    build: ActionRequest
    result: ActionResult
    estimate: SizeEstimate
    steps: Tuple[ActionResult, ...]


@rule
async def build_from_model(request: BuildFromModel) -> ModelBuild:
    graph = await Get(CheckedGraph, CheckGraph(request.model, request.reader))
    build = request.step.of_model(graph.model.described_inputs)
    weights, result, estimate = await MultiGet(
        Get(CheckedWeights, CheckWeights(graph.request)),
        Get(ActionResult, ActionRequest, build),
        Get(SizeEstimate, EstimateSize(request.address, graph.model, request.profiles)),
    )
    if weights.model != graph.model:
        # Its weights were damaged in a cache, and the engine was built of them.
        build = request.step.of_model(weights.model.described_inputs)
        result = await Get(ActionResult, ActionRequest, build)
    steps = (graph.step, weights.step, *estimate.steps, result)
    return ModelBuild(weights.model, build, result, estimate, steps)


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *size_estimate.rules(),
        *checked_model.rules(),
    )
