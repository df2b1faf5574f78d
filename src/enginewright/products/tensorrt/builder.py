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
from dataclasses import dataclass
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
from enginewright.products.tensorrt.variant import Variant

_PIECE = 1 << 16
"""Bytes of the plan that are written at once."""

# What the library says where it looks for a device and the host has no CUDA driver.


@dataclass(frozen=True)
class _Serialized:
    memory: Any
    """The library's buffer; several gigabytes, so it is never copied."""
    tensors: tuple[EngineTensor, ...]
    profiles: tuple[OptimizationProfile, ...]
    warnings: tuple[str, ...]


def build(
    variant: Variant,
    request: BuildRequest,
    model: Path,
    record: OnnxRecord,
    plan: Path,
    verify_inputs: Callable[[], None],
) -> BuildResult:
    """Build the engine of `model`, which `record` describes, with `variant` into the file `plan`.

    `verify_inputs` raises `InputError` when the files at hand are not the promised ones. Raises
    `InputError` for that, for every user mistake, for a library other than the toolchain's, and
    for what the builder refuses; then there is no plan.
    """
    toolchain = request.toolchain
    has_own_heap = deterministic_process.use_heap()
    trt = variant.load()
    first = libraries.list_libraries(variant)
    raise_if_any(libraries.compare_before_build(toolchain.libraries, first))
    with ThreadPoolExecutor(max_workers=1) as beside:
        verified = beside.submit(verify_inputs)
        try:
            serialized = _serialize(variant, trt, request, model, record)
        finally:
            verified.result()  # A wrong file explains whatever the builder says of it.
        # Every library that took part is mapped now; some may have come during the build.
        loaded = libraries.list_libraries(variant, first)
        raise_if_any(libraries.compare(toolchain.libraries, loaded))
        view = memoryview(serialized.memory)
        digest = beside.submit(lambda: hashlib.sha256(view).hexdigest())
        _write(plan, view)
        sha256 = digest.result()
    described = BuiltPlan(
        serialized.profiles,
        request.compute_capabilities,
        request.weight_streaming,
        loaded,
        request.options(),
    )
    return BuildResult(
        ProductVersion(variant.name, libraries.loaded_version(variant)),
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


def _serialize(
    variant: Variant, trt: Any, request: BuildRequest, model: Path, record: OnnxRecord
) -> _Serialized:
    problems = check_version(variant, request.toolchain)
    problems += check_compute_capabilities(trt, request)
    problems += profile_resolution.check(record.inputs, request.profiles)
    raise_if_any(problems)

    log = BuilderLog()
    logger = log.logger(trt)
    builder = trt.Builder(logger)
    deterministic_process.align_heap()
    parsed = parse(trt, builder, logger, log, model, record)
    profiles = resolve_profiles(parsed, request)
    config = configure(trt, builder, request)
    for profile in profiles:
        add_profile(builder, config, profile)
    _refuse(log)
    config.progress_monitor = monitor(trt, PhaseTracker(report_progress, time.monotonic))
    deterministic_process.align_heap()
    memory = builder.build_serialized_network(parsed.network, config)
    if memory is None or log.errors:
        _refuse(log, "the builder gave no plan and no message")
    return _Serialized(memory, parsed.tensors(), profiles, log.warnings)


def check_version(variant: Variant, toolchain: Toolchain) -> list[Problem]:
    """Compare all four fields with those that the loaded library reports."""
    version = libraries.loaded_version(variant)
    if version == toolchain.version:
        return []
    what = f"the loaded {variant.name} has another version than the toolchain"
    fix = "make the lock file and the toolchain name the same version"
    return [Problem(what, "toolchain.version", toolchain.version, version, fix)]


def resolve_profiles(
    parsed: ParsedNetwork, request: BuildRequest
) -> tuple[OptimizationProfile, ...]:
    """Check the profiles against the network as the builder sees it, then resolve them."""
    inputs = parsed.inputs
    problems = profile_resolution.check(inputs, request.profiles)
    problems += profile_resolution.check_shape_tensors(parsed.shape_tensors())
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
        [Problem("the builder refused", "builder log", actual=message) for message in messages]
    )
