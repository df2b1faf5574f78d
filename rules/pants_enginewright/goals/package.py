"""`./pants package`: engines, models and compiled code into dist/."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Iterable

from pants.core.goals.package import BuiltPackage, OutputPathField, PackageFieldSet
from pants.engine.internals.session import RunId
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.unions import UnionRule
from pants.util.logging import LogLevel

from pants_enginewright.compat import EnvironmentField
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.engines.size_estimate import describe_sizes
from pants_enginewright.engines.targets import ModelField
from pants_enginewright.kernels.compilation import CompiledCode, CompileRequest
from pants_enginewright.kernels.targets import CodeSourcesField
from pants_enginewright.models.model_check import plan_graph_check, plan_weights_check
from pants_enginewright.models.onnx_model import OnnxModel, OnnxModelRequest
from pants_enginewright.models.targets import ModelOriginField
from pants_enginewright.steps.action import ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Files
from pants_enginewright.steps.finished_package import FinishedPackage, FinishPackage

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineFieldSet(PackageFieldSet):
    required_fields = (ModelField, OutputPathField)

    output_path: OutputPathField
    environment: EnvironmentField


@dataclass(frozen=True)
class ModelFieldSet(PackageFieldSet):
    required_fields = (ModelOriginField, OutputPathField)

    output_path: OutputPathField
    environment: EnvironmentField


@dataclass(frozen=True)
class CodeFieldSet(PackageFieldSet):
    required_fields = (CodeSourcesField, OutputPathField)

    output_path: OutputPathField
    environment: EnvironmentField


@rule(desc="Package an engine", level=LogLevel.DEBUG)
async def package_engine(field_set: EngineFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id  # Named so that every run records where its steps' results came from.
    engine = await Get(Engine, EngineRequest, EngineRequest.by_user(field_set.address))
    estimate = engine.estimate.parsed()
    if estimate is not None:
        size = sum(file.size for file in engine.built_files())
        logger.info(f"{engine.address}: {describe_sizes(estimate, size, engine.is_plan)}")
    finished = await Get(
        FinishedPackage, FinishPackage(engine.package, engine.steps, field_set.output_path)
    )
    return finished.package


@rule(desc="Package a model", level=LogLevel.DEBUG)
async def package_model(field_set: ModelFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id
    model = await Get(OnnxModel, OnnxModelRequest, OnnxModelRequest.by_user(field_set.address))
    checks = await MultiGet(
        Get(ActionResult, ActionRequest, check)
        for check in (plan_graph_check(model), plan_weights_check(model))
    )
    described = [*model.record.entries]
    if model.quantization is not None:
        described.append(model.quantization.files.by_path()["result.json"].at("report.json"))
    package = await Get(
        Files, ComposeFiles((*model.graph.entries, *model.data.entries, *described))
    )
    steps = (*model.steps, *checks)
    finished = await Get(FinishedPackage, FinishPackage(package, steps, field_set.output_path))
    return finished.package


@rule(desc="Package compiled code", level=LogLevel.DEBUG)
async def package_code(field_set: CodeFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id
    code = await Get(CompiledCode, CompileRequest, CompileRequest.by_user(field_set.address))
    finished = await Get(
        FinishedPackage, FinishPackage(code.files, (code.step,), field_set.output_path)
    )
    return finished.package


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        UnionRule(PackageFieldSet, CodeFieldSet),
        UnionRule(PackageFieldSet, EngineFieldSet),
        UnionRule(PackageFieldSet, ModelFieldSet),
    )
