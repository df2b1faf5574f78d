"""`./pants package`: engines, models and compiled code into dist/."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Iterable

from pants.core.goals.package import BuiltPackage, OutputPathField, PackageFieldSet
from pants.engine.internals.session import RunId
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.unions import UnionRule
from pants.util.logging import LogLevel

from pants_enginewright.compat import EnvironmentField
from pants_enginewright.engines import engine
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.engines.targets import EngineOutputPathField
from pants_enginewright.kernels import compilation
from pants_enginewright.kernels.compilation import CompiledCode, CompileRequest
from pants_enginewright.kernels.targets import CodeSourcesField
from pants_enginewright.models import checked_model
from pants_enginewright.models.checked_model import (
    CheckedGraph,
    CheckedWeights,
    CheckGraph,
    CheckWeights,
)
from pants_enginewright.models.onnx_model import OnnxModelRequest
from pants_enginewright.models.targets import ModelOriginField
from pants_enginewright.steps import finished_package
from pants_enginewright.steps.files import ComposeFiles, Files
from pants_enginewright.steps.finished_package import FinishedPackage, FinishPackage

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineFieldSet(PackageFieldSet):
    required_fields = (EngineOutputPathField,)

    output_path: EngineOutputPathField
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
    sizes = engine.describe_sizes()
    if sizes is not None:
        logger.info(f"{engine.address}: {sizes}")
    finished = await Get(
        FinishedPackage, FinishPackage(engine.package, engine.steps, field_set.output_path)
    )
    return finished.package


@rule(desc="Package a model", level=LogLevel.DEBUG)
async def package_model(field_set: ModelFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id
    named = OnnxModelRequest.by_user(field_set.address)
    graph = await Get(CheckedGraph, CheckGraph(named))
    weights = await Get(CheckedWeights, CheckWeights(graph.request))
    model = weights.model
    described = (*model.record.entries, *model.report)
    package = await Get(
        Files, ComposeFiles((*model.graph.entries, *model.data.entries, *described))
    )
    steps = (*model.steps, graph.step, weights.step)
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
        *engine.rules(),
        *compilation.rules(),
        *checked_model.rules(),
        *finished_package.rules(),
    )
