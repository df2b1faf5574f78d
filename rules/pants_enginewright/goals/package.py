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
from pants.engine.unions import UnionRule
from pants.util.logging import LogLevel

from pants_enginewright.compat import (
    ChosenLocalEnvironmentName,
    EnvironmentField,
    EnvironmentName,
)
from pants_enginewright.targets.cuda import (
    CudaSourcesField,
    ExtensionSourcesField,
    PtxField,
    SanitizersField,
)
from pants_enginewright.targets.engines import (
    ComputeCapabilitiesField,
    ModelField,
    ProviderField,
    ToolchainField,
)
from pants_enginewright.targets.models import (
    CheckpointField,
    MethodField,
    QuantizedModelSourceField,
    TaskField,
)
from pants_enginewright.util_rules.action import ActionResult
from pants_enginewright.util_rules.disk_space import raise_if_too_large
from pants_enginewright.util_rules.engine import Engine, EngineRequest
from pants_enginewright.util_rules.extension import Extension, ExtensionRequest
from pants_enginewright.util_rules.files import ComposeFiles, Files
from pants_enginewright.util_rules.kernels import Kernels, KernelsRequest
from pants_enginewright.util_rules.onnx_model import (
    CheckedModel,
    CheckModel,
    OnnxModel,
    OnnxModelRequest,
)
from pants_enginewright.util_rules.record import (
    RecordSteps,
    StepsRecord,
    raise_if_not_deterministic,
)
from pants_enginewright.util_rules.size_estimate import describe_sizes

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
class TensorrtRtxEngineFieldSet(PackageFieldSet):
    required_fields = (ModelField, ToolchainField, ComputeCapabilitiesField)

    output_path: OutputPathField
    environment: EnvironmentField


@dataclass(frozen=True)
class OnnxruntimeEngineFieldSet(PackageFieldSet):
    required_fields = (ModelField, ProviderField)

    output_path: OutputPathField
    environment: EnvironmentField


@dataclass(frozen=True)
class OnnxModelFieldSet(PackageFieldSet):
    required_fields = (CheckpointField, TaskField)

    output_path: OutputPathField
    environment: EnvironmentField


@dataclass(frozen=True)
class CudaKernelsFieldSet(PackageFieldSet):
    required_fields = (CudaSourcesField, PtxField)

    output_path: OutputPathField
    environment: EnvironmentField


@dataclass(frozen=True)
class QuantizedModelFieldSet(PackageFieldSet):
    required_fields = (QuantizedModelSourceField, MethodField)

    output_path: OutputPathField
    environment: EnvironmentField


@dataclass(frozen=True)
class FinishEngine:
    address: Address
    output_path: OutputPathField


@dataclass(frozen=True)
class FinishModel:
    address: Address
    output_path: OutputPathField


@dataclass(frozen=True)
class CudaExtensionFieldSet(PackageFieldSet):
    required_fields = (ExtensionSourcesField, SanitizersField)

    output_path: OutputPathField
    environment: EnvironmentField


@rule(desc="Package an extension module", level=LogLevel.DEBUG)
async def package_cuda_extension(field_set: CudaExtensionFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id
    request = ExtensionRequest(field_set.address.spec, "the command line", None)
    extension = await Get(Extension, ExtensionRequest, request)
    finished = await Get(
        FinishedPackage, FinishPackage(extension.files, (extension.step,), field_set.output_path)
    )
    return finished.package


@rule(desc="Package CUDA kernels", level=LogLevel.DEBUG)
async def package_cuda_kernels(field_set: CudaKernelsFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id
    kernels = await Get(Kernels, KernelsRequest(field_set.address.spec, "the command line", None))
    finished = await Get(
        FinishedPackage, FinishPackage(kernels.files, (kernels.step,), field_set.output_path)
    )
    return finished.package


@rule(desc="Package an engine", level=LogLevel.DEBUG)
async def package_tensorrt_rtx_engine(
    field_set: TensorrtRtxEngineFieldSet, run_id: RunId
) -> BuiltPackage:
    del run_id  # Named so that every run records where its steps' results came from.
    finished = await Get(FinishedPackage, FinishEngine(field_set.address, field_set.output_path))
    return finished.package


@rule(desc="Package an engine for ONNX Runtime", level=LogLevel.DEBUG)
async def package_onnxruntime_engine(
    field_set: OnnxruntimeEngineFieldSet, run_id: RunId
) -> BuiltPackage:
    del run_id
    finished = await Get(FinishedPackage, FinishEngine(field_set.address, field_set.output_path))
    return finished.package


@rule(desc="Package an ONNX model", level=LogLevel.DEBUG)
async def package_onnx_model(field_set: OnnxModelFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id
    finished = await Get(FinishedPackage, FinishModel(field_set.address, field_set.output_path))
    return finished.package


@rule(desc="Package a quantized model", level=LogLevel.DEBUG)
async def package_quantized_model(field_set: QuantizedModelFieldSet, run_id: RunId) -> BuiltPackage:
    del run_id
    finished = await Get(FinishedPackage, FinishModel(field_set.address, field_set.output_path))
    return finished.package


@rule
async def finish_engine(request: FinishEngine, run_id: RunId) -> FinishedPackage:
    del run_id
    engine = await Get(Engine, EngineRequest(request.address.spec, "the command line", None))
    estimate = engine.estimate.parsed()
    if estimate is not None:
        size = sum(file.size for file in engine.built_files())
        logger.info(f"{engine.address}: {describe_sizes(estimate, size, engine.is_plan)}")
    return await Get(
        FinishedPackage, FinishPackage(engine.package, engine.steps, request.output_path)
    )


@rule
async def finish_model(request: FinishModel) -> FinishedPackage:
    model = await Get(OnnxModel, OnnxModelRequest(request.address.spec, "the command line", None))
    checks = await MultiGet(
        Get(CheckedModel, CheckModel(model, "", model.address, weights))
        for weights in (False, True)
    )
    described = [model.export.files.by_path()["result.json"].at("onnx.json")]
    if model.quantization is not None:
        described.append(model.quantization.files.by_path()["result.json"].at("report.json"))
    package = await Get(
        Files, ComposeFiles((*model.graph.entries, *model.data.entries, *described))
    )
    steps = (*model.steps, *(check.step for check in checks))
    return await Get(FinishedPackage, FinishPackage(package, steps, request.output_path))


@rule
async def finish_package(
    request: FinishPackage, dist: DistDir, root: BuildRoot, run_id: RunId
) -> FinishedPackage:
    del run_id  # Space on the disk is asked for anew in each run.
    path = request.output_path.value_or_default(file_ending=None)
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
        UnionRule(PackageFieldSet, TensorrtRtxEngineFieldSet),
        UnionRule(PackageFieldSet, OnnxruntimeEngineFieldSet),
        UnionRule(PackageFieldSet, OnnxModelFieldSet),
        UnionRule(PackageFieldSet, CudaExtensionFieldSet),
        UnionRule(PackageFieldSet, CudaKernelsFieldSet),
        UnionRule(PackageFieldSet, QuantizedModelFieldSet),
    )
