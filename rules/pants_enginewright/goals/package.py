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
from pants_enginewright.models.model_source import ModelSource, SourceFile
from pants_enginewright.models.onnx_model import OnnxModelRequest
from pants_enginewright.models.targets import ModelOriginField
from pants_enginewright.provenance import provenance
from pants_enginewright.provenance.provenance import (
    LIBRARY,
    MODEL,
    Provenance,
    WriteProvenance,
)
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


async def with_provenance(request: WriteProvenance, output_path: OutputPathField) -> FinishPackage:
    """The package with the documents about it."""
    written = await Get(Provenance, WriteProvenance, request)
    files = await Get(Files, ComposeFiles, request.with_provenance(written))
    return FinishPackage(files, (*request.steps, *written.steps), output_path)


@rule(desc="Package an engine", level=LogLevel.DEBUG)
async def package_engine(field_set: EngineFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id  # Named so that every run records where its steps' results came from.
    engine = await Get(Engine, EngineRequest, EngineRequest.by_user(field_set.address))
    sizes = engine.describe_sizes()
    if sizes is not None:
        logger.info(f"{engine.address}: {sizes}")
    toolchain = engine.built.toolchain
    pins = () if toolchain is None else (SourceFile.of_toolchain(toolchain),)
    known = (*engine.built.source.files, *pins)
    documented = WriteProvenance(field_set.address, MODEL, engine.package, engine.steps, known)
    whole = await with_provenance(documented, field_set.output_path)
    finished = await Get(FinishedPackage, FinishPackage, whole)
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
    known = ModelSource.of_model(model).files
    documented = WriteProvenance(field_set.address, MODEL, package, steps, known)
    whole = await with_provenance(documented, field_set.output_path)
    finished = await Get(FinishedPackage, FinishPackage, whole)
    return finished.package


@rule(desc="Package compiled code", level=LogLevel.DEBUG)
async def package_code(field_set: CodeFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id
    code = await Get(CompiledCode, CompileRequest, CompileRequest.by_user(field_set.address))
    documented = WriteProvenance(field_set.address, LIBRARY, code.files, (code.step,))
    whole = await with_provenance(documented, field_set.output_path)
    finished = await Get(FinishedPackage, FinishPackage, whole)
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
        *provenance.rules(),
    )
