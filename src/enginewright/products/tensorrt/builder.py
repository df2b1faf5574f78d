"""ONNX model -> serialized engine, through the API that TensorRT and TensorRT for RTX share.

Only TensorRT for RTX has been run. The builder numbers its builds within a process and writes that
number into the plan (seen with 1.7.1.116): the same plan comes out of two processes, not of two
builds in one process. So one process makes one build.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from enginewright.document import encode
from enginewright.engines.build_result import BuildResult, ProductVersion
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.hashing import FileDigest
from enginewright.onnx_model.record import OnnxRecord
from enginewright.products.tensorrt import deterministic_process, libraries, profile_resolution
from enginewright.products.tensorrt.builder_config import (
    add_profile,
    check_compute_capabilities,
    configure,
)
from enginewright.products.tensorrt.builder_log import BuilderLog
from enginewright.products.tensorrt.built_plan import PLAN_NAME, BuiltPlan
from enginewright.products.tensorrt.network import ParsedNetwork, parse
from enginewright.products.tensorrt.optimization_profile import OptimizationProfile
from enginewright.products.tensorrt.options import BuildRequest, Toolchain
from enginewright.products.tensorrt.progress_monitor import PhaseTracker, monitor, report_progress
from enginewright.products.tensorrt.reproducibility import of_plan

_PIECE = 1 << 16
"""Bytes of the plan that are written at once."""

# What the library says where it looks for a device and the host has no CUDA driver.
_NO_DEVICE = ("cudaError 35", "CHECK(status == CUDA_SUCCESS)")


@dataclass(frozen=True)
class _Serialized:
    memory: Any
    """The library's buffer; several gigabytes, so it is never copied."""
    tensors: tuple[EngineTensor, ...]
    profiles: tuple[OptimizationProfile, ...]
    warnings: tuple[str, ...]


def build(
    request: BuildRequest,
    model: Path,
    record: OnnxRecord,
    plan: Path,
    verify_inputs: Callable[[], None],
) -> BuildResult:
    """Build the engine of `model`, which `record` describes, into the file `plan`.

    `verify_inputs` raises `InputError` when the files at hand are not the promised ones. Raises
    `InputError` for that, for every user mistake, for a library other than the toolchain's, and
    for what the builder refuses; then there is no plan.
    """
    toolchain = request.toolchain
    has_own_heap = deterministic_process.use_heap()
    trt = toolchain.product.load()
    first = libraries.list_libraries(toolchain.product)
    raise_if_any(libraries.compare_before_build(toolchain.libraries, first))
    with ThreadPoolExecutor(max_workers=1) as beside:
        verified = beside.submit(verify_inputs)
        try:
            serialized = _serialize(trt, request, model, record)
        finally:
            verified.result()  # A wrong file explains whatever the builder says of it.
        # Every library that took part is mapped now; some may have come during the build.
        loaded = libraries.list_libraries(toolchain.product, first)
        raise_if_any(libraries.compare(toolchain.libraries, loaded))
        view = memoryview(serialized.memory)
        digest = beside.submit(lambda: hashlib.sha256(view).hexdigest())
        _write(plan, view)
        sha256 = digest.result()
    options = {
        name: value
        for name, value in asdict(request.options).items()
        if name not in ("compute_capabilities", "weight_streaming")
    }
    described = BuiltPlan(
        serialized.profiles,
        request.options.compute_capabilities,
        request.options.weight_streaming,
        loaded,
        options,
    )
    return BuildResult(
        ProductVersion(toolchain.product.name, libraries.loaded_version(toolchain.product)),
        {PLAN_NAME: FileDigest(sha256, view.nbytes)},
        serialized.tensors,
        of_plan(serialized.tensors, has_own_heap=has_own_heap),
        encode(described),
        serialized.warnings,
    )


def _write(path: Path, view: memoryview) -> None:
    """Write in small pieces: they get pages that the build has just freed.

    One large piece gets large pages that were never used, which a virtual machine's host may have
    to find first: 3.3 s instead of 0.4 s for 1.2 GB where this was measured.
    """
    with path.open("wb", buffering=0) as stream:
        for begin in range(0, view.nbytes, _PIECE):
            stream.write(view[begin : begin + _PIECE])


def _serialize(trt: Any, request: BuildRequest, model: Path, record: OnnxRecord) -> _Serialized:
    problems = check_version(request.toolchain)
    problems += check_compute_capabilities(trt, request.toolchain, request.options)
    problems += profile_resolution.check(record.inputs, request.profiles)
    raise_if_any(problems)

    log = BuilderLog()
    logger = log.logger(trt)
    builder = trt.Builder(logger)
    deterministic_process.align_heap()
    parsed = parse(trt, builder, logger, log, model, record)
    profiles = resolve_profiles(parsed, request)
    config = configure(trt, builder, request.options)
    for profile in profiles:
        add_profile(builder, config, profile)
    _refuse(log)
    config.progress_monitor = monitor(trt, PhaseTracker(report_progress, time.monotonic))
    deterministic_process.align_heap()
    memory = builder.build_serialized_network(parsed.network, config)
    if memory is None or log.errors:
        _refuse(log, "the builder gave no plan and no message")
    return _Serialized(memory, parsed.tensors(), profiles, log.warnings)


def check_version(toolchain: Toolchain) -> list[Problem]:
    """Compare all four fields with those that the loaded library reports."""
    version = libraries.loaded_version(toolchain.product)
    if version == toolchain.version:
        return []
    what = f"the loaded {toolchain.product.name} has another version than the toolchain"
    fix = "make the lock file and the toolchain name the same version"
    return [Problem(what, "toolchain.version", toolchain.version, version, fix)]


def resolve_profiles(
    parsed: ParsedNetwork, request: BuildRequest
) -> tuple[OptimizationProfile, ...]:
    """Check the profiles against the network as the builder sees it, then resolve them."""
    inputs = parsed.inputs
    problems = profile_resolution.check(inputs, request.profiles)
    problems += profile_resolution.check_values(parsed.shape_tensors(), request.profiles)
    raise_if_any(problems)
    return tuple(profile_resolution.resolve(inputs, profile) for profile in request.profiles)


def _refuse(log: BuilderLog, without_message: str = "") -> None:
    """Raise `InputError` with the builder's errors.

    The builder ignores some options that it refuses and builds without them, so an error in its
    log counts even when there is a plan.
    """
    messages = log.errors or ((without_message,) if without_message else ())
    if not messages:
        return
    raise InputError(
        [
            Problem("the builder refused", "builder log", actual=message, fix=_fix(message))
            for message in messages
        ]
    )


def _fix(message: str) -> str:
    if not any(sign in message for sign in _NO_DEVICE):
        return ""
    return (
        "when an option needs a CUDA device, build where there is one, or leave the option out: "
        "`current` as compute capability, `refit`, `refit_identical`, `strip_plan`"
    )
