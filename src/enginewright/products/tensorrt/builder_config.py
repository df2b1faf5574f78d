"""Options of a request set on the builder's configuration."""

from __future__ import annotations

from typing import Any

from enginewright.errors import Problem
from enginewright.products.tensorrt.optimization_profile import OptimizationProfile
from enginewright.products.tensorrt.options import CURRENT, BuildOptions, Toolchain


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
