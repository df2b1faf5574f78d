"""ONNX model -> serialized engine, through the API that TensorRT and TensorRT for RTX share.

Only TensorRT for RTX has been run. The builder numbers its builds within a process and writes that
number into the plan (seen with 1.7.1.116): the same plan comes out of two processes, not of two
builds in one process. So one process makes one build.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from enginewright.engine import libraries, profile_resolution
from enginewright.engine.builder_log import BuilderLog
from enginewright.engine.network import ParsedNetwork, parse
from enginewright.engine.onnx_signature import OnnxSignature
from enginewright.engine.optimization_profile import OptimizationProfile
from enginewright.engine.options import CURRENT, BuildOptions, BuildRequest, Toolchain
from enginewright.engine.progress_monitor import PhaseTracker, monitor, report_progress
from enginewright.engine.tensor import EngineTensor
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.hashing import FileDigest

# What the library says where it looks for a device and the host has no CUDA driver.
_NO_DEVICE = ("cudaError 35", "CHECK(status == CUDA_SUCCESS)")


@dataclass(frozen=True)
class BuiltEngine:
    plan: FileDigest
    product: str
    version: str
    tensors: tuple[EngineTensor, ...]
    profiles: tuple[OptimizationProfile, ...]
    options: BuildOptions
    libraries: Mapping[str, str]
    """File name -> sha256 of the shared libraries that made the plan."""
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "plan": {"path": "engine.plan", **asdict(self.plan)},
            "product": {"name": self.product, "version": self.version},
            "tensors": [tensor.to_json() for tensor in self.tensors],
            "profiles": [profile.to_json() for profile in self.profiles],
            "compute_capabilities": list(self.options.compute_capabilities),
            "weight_streaming": self.options.weight_streaming,
            "options": {
                name: value
                for name, value in asdict(self.options).items()
                if name not in ("compute_capabilities", "weight_streaming")
            },
            "libraries": dict(self.libraries),
            "warnings": list(self.warnings),
        }


def build(request: BuildRequest, model: Path, plan: Path) -> BuiltEngine:
    """Build the engine of `model` into the file `plan`.

    Raises `InputError` for every user mistake, for a library other than the toolchain's, and for
    what the builder refuses; then there is no plan.
    """
    toolchain, options = request.toolchain, request.options
    trt = toolchain.product.load()
    signature = OnnxSignature.read(model)
    problems = check_version(toolchain)
    problems += check_compute_capabilities(trt, toolchain, options)
    problems += profile_resolution.check(signature.inputs, request.profiles)
    raise_if_any(problems)

    log = BuilderLog()
    logger = log.logger(trt)
    builder = trt.Builder(logger)
    parsed = parse(trt, builder, logger, log, model, signature)
    profiles = resolve_profiles(parsed, request)
    config = configure(trt, builder, options)
    for profile in profiles:
        add_profile(builder, config, profile)
    _refuse(log)
    config.progress_monitor = monitor(trt, PhaseTracker(report_progress, time.monotonic))
    serialized = builder.build_serialized_network(parsed.network, config)
    if serialized is None or log.errors:
        _refuse(log, "the builder gave no plan and no message")

    # After the build, when every library that takes part has been loaded.
    loaded = libraries.list_libraries(toolchain.product)
    raise_if_any(libraries.compare(toolchain.libraries, loaded))
    plan.write_bytes(memoryview(serialized))
    version = libraries.loaded_version(toolchain.product)
    return BuiltEngine(
        FileDigest.of(plan),
        toolchain.product.name,
        version,
        parsed.tensors(),
        profiles,
        options,
        loaded,
        log.warnings,
    )


def check_version(toolchain: Toolchain) -> list[Problem]:
    """Compare all four fields with those that the loaded library reports."""
    version = libraries.loaded_version(toolchain.product)
    if version == toolchain.version:
        return []
    what = f"the loaded {toolchain.product.name} has another version than the toolchain"
    fix = "make the lock file and the toolchain name the same version"
    return [Problem(what, "toolchain.version", toolchain.version, version, fix)]


def compute_capability_names(trt: Any) -> dict[str, str]:
    """`8.6` -> `SM86` for each target of the loaded product, and `current` -> `CURRENT`."""
    names = {CURRENT: "CURRENT"}
    for member in trt.ComputeCapability.__members__:
        if member.startswith("SM"):
            names[f"{member[2:-1]}.{member[-1]}"] = member
    return names


def check_compute_capabilities(
    trt: Any, toolchain: Toolchain, options: BuildOptions
) -> list[Problem]:
    """One problem for each target that the loaded product does not have."""
    if not toolchain.product.has_compute_capabilities:
        return []
    valid = compute_capability_names(trt)
    return [
        Problem(
            f"{toolchain.product.name} {toolchain.version} does not support compute capability "
            f"{capability}",
            "compute_capabilities",
            "one of " + ", ".join(valid),
            capability,
            "remove it; GPUs of this compute capability need another product",
        )
        for capability in options.compute_capabilities
        if capability not in valid
    ]


def resolve_profiles(
    parsed: ParsedNetwork, request: BuildRequest
) -> tuple[OptimizationProfile, ...]:
    """Check the profiles against the network as the builder sees it, then resolve them."""
    inputs = parsed.inputs
    problems = profile_resolution.check(inputs, request.profiles)
    problems += profile_resolution.check_values(parsed.shape_tensors(), request.profiles)
    raise_if_any(problems)
    return tuple(profile_resolution.resolve(inputs, profile) for profile in request.profiles)


def configure(trt: Any, builder: Any, options: BuildOptions) -> Any:
    """A builder configuration with `options`; what is `None` stays as the product has it."""
    config = builder.create_builder_config()
    names = compute_capability_names(trt)
    config.num_compute_capabilities = len(options.compute_capabilities)
    for index, capability in enumerate(options.compute_capabilities):
        target = trt.ComputeCapability.__members__[names[capability]]
        config.set_compute_capability(target, index)
    numbers = {
        "builder_optimization_level": options.optimization_level,
        "l2_limit_for_tiling": options.l2_limit_for_tiling,
        "max_aux_streams": options.max_aux_streams,
        "max_num_tactics": options.max_num_tactics,
        "avg_timing_iterations": options.avg_timing_iterations,
    }
    choices = {
        "tiling_optimization_level": (
            trt.TilingOptimizationLevel,
            options.tiling_optimization_level,
        ),
        "engine_capability": (trt.EngineCapability, options.engine_capability),
        "runtime_platform": (trt.RuntimePlatform, options.runtime_platform),
        "profiling_verbosity": (trt.ProfilingVerbosity, options.profiling_verbosity),
    }
    for name, number in numbers.items():
        if number is not None:
            setattr(config, name, number)
    for name, (enum, choice) in choices.items():
        if choice is not None:
            setattr(config, name, enum.__members__[choice.upper()])
    for pool, limit in options.memory_pool_limits.items():
        config.set_memory_pool_limit(trt.MemoryPoolType.__members__[pool.upper()], limit)
    flags = {**options.builder_flags}
    if options.weight_streaming:
        flags["weight_streaming"] = True
    for flag, enabled in sorted(flags.items()):
        change = config.set_flag if enabled else config.clear_flag
        change(trt.BuilderFlag.__members__[flag.upper()])
    return config


def add_profile(builder: Any, config: Any, profile: OptimizationProfile) -> None:
    native = builder.create_optimization_profile()
    for tensor, (low, best, high) in profile.shapes.items():
        native.set_shape(tensor, low, best, high)
    for tensor, (low, best, high) in profile.values.items():
        native.set_shape_input(tensor, low, best, high)
    config.add_optimization_profile(native)


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
