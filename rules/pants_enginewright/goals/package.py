"""`./pants package`: engines and models into dist/."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Iterable

from pants.base.build_root import BuildRoot
from pants.core.goals.package import (
    BuiltPackage,
    BuiltPackageArtifact,
    OutputPathField,
    PackageFieldSet,
)
from pants.core.util_rules.distdir import DistDir
from pants.engine.addresses import Address
from pants.engine.fs import AddPrefix, Digest
from pants.engine.internals.session import RunId
from pants.engine.process import Process, ProcessCacheScope, ProcessResult
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import AllTargets, InvalidTargetException
from pants.engine.unions import UnionRule
from pants.util.logging import LogLevel
from pants.util.strutil import bullet_list

from pants_enginewright.compat import (
    ChosenLocalEnvironmentName,
    EnvironmentField,
    EnvironmentName,
)
from pants_enginewright.engines.engine import Engine, EngineRequest
from pants_enginewright.engines.size_estimate import describe_sizes
from pants_enginewright.engines.targets import ModelField
from pants_enginewright.kernels.compilation import CompiledCode, CompileRequest
from pants_enginewright.kernels.targets import CodeSourcesField
from pants_enginewright.models.model_check import plan_graph_check, plan_weights_check
from pants_enginewright.models.onnx_model import OnnxModel, OnnxModelRequest
from pants_enginewright.models.targets import ModelOriginField
from pants_enginewright.steps.action import ActionRequest, ActionResult
from pants_enginewright.steps.disk_space import raise_if_too_large
from pants_enginewright.steps.files import ComposeFiles, Files
from pants_enginewright.steps.record import (
    RecordSteps,
    StepsRecord,
    raise_if_not_deterministic,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FinishPackage:
    files: Files
    steps: tuple[ActionResult, ...]
    output_path: OutputPathField


@dataclass(frozen=True)
class FinishedPackage:
    package: BuiltPackage


@dataclass(frozen=True)
class FetchPackage:
    path: str
    digest: Digest


@dataclass(frozen=True)
class FetchedPackage:
    """All bytes of it are in the store of this host."""


class PackageNotFetchedError(Exception):
    def __init__(self, path: str, error: str) -> None:
        reason = error.strip().splitlines()[-1] if error.strip() else "no reason was given"
        super().__init__(
            f"The package {path} could not be brought here: {reason}\n"
            f"Nothing of it was written. Run again; where the remote cache stays away, with "
            f"`--no-remote-cache-read`."
        )


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
    described = [model.export.files.by_path()["result.json"].at("onnx.json")]
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


def raise_if_shared(path: str, writers: Iterable[Address]) -> None:
    """Pants would merge what two targets write, or stop and print the files that differ."""
    addresses = sorted(address.spec for address in writers)
    if len(addresses) > 1:
        raise InvalidTargetException(
            f"{len(addresses)} targets write dist/{path}:\n{bullet_list(addresses)}\n"
            f"Give each a field `{OutputPathField.alias}` of its own, or none."
        )


@rule
async def finish_package(
    request: FinishPackage, dist: DistDir, root: BuildRoot, run_id: RunId
) -> FinishedPackage:
    del run_id  # Space on the disk is asked for anew in each run.
    path = request.output_path.value_or_default(file_ending=None)
    # Without a field the path is the address; other BUILD files are read only where there is one.
    if request.output_path.value is not None:
        targets = await Get(AllTargets)
        outputs = [t[OutputPathField] for t in targets if t.has_field(OutputPathField)]
        same = [o.address for o in outputs if o.value_or_default(file_ending=None) == path]
        raise_if_shared(path, same)
    digest = await Get(Digest, AddPrefix(request.files.digest, path))
    await Get(StepsRecord, RecordSteps(path, request.steps))
    raise_if_not_deterministic(request.steps)
    sizes = {f"{path}/{file.path}": file.size for file in request.files.entries}
    raise_if_too_large(f"The package {path}", sizes, str(root.pathlib_path / dist.relpath))
    await Get(FetchedPackage, FetchPackage(path, digest))
    artifacts = [BuiltPackageArtifact(name) for name in sizes]
    return FinishedPackage(BuiltPackage(digest, tuple(artifacts)))


@rule
async def fetch_package(request: FetchPackage) -> FetchedPackage:
    """Have all bytes of a package here.

    Pants writes a package file by file, and fetches each from the remote cache when its turn comes:
    where that broke off, dist/ would keep half a package. A process that has it as its input, and
    does nothing, brings all of it into the store before. Once for each daemon: a repository has
    hundreds of packages, and most do not change.
    """
    local = await Get(ChosenLocalEnvironmentName)
    process = Process(
        ["/bin/sh", "-c", ":"],
        description=f"Fetch the package {request.path}",
        level=LogLevel.DEBUG,
        input_digest=request.digest,
        cache_scope=ProcessCacheScope.PER_RESTART_SUCCESSFUL,
    )
    try:
        await Get(ProcessResult, {process: Process, local.val: EnvironmentName})
    except Exception as error:
        raise PackageNotFetchedError(request.path, str(error)) from None
    return FetchedPackage()


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        UnionRule(PackageFieldSet, CodeFieldSet),
        UnionRule(PackageFieldSet, EngineFieldSet),
        UnionRule(PackageFieldSet, ModelFieldSet),
    )
