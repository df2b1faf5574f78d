"""Options of a request set on the builder's configuration."""

from __future__ import annotations

from typing import Any

from enginewright.errors import Problem
from enginewright.products.tensorrt.optimization_profile import OptimizationProfile
from enginewright.products.tensorrt.options import BuildRequest


def compute_capability_names(trt: Any) -> dict[str, str]:
    """`8.6` -> `SM86` for each target of the loaded product."""
    members = [name for name in trt.ComputeCapability.__members__ if name.startswith("SM")]
    return {f"{member[2:-1]}.{member[-1]}": member for member in members}


def check_compute_capabilities(trt: Any, request: BuildRequest) -> list[Problem]:
    """One problem for each target that the loaded product does not have."""
    toolchain = request.toolchain
    valid = compute_capability_names(trt)
    return [
        Problem(
            f"{toolchain.product} {toolchain.version} does not support compute capability "
            f"{capability}",
            "compute_capabilities",
            "one of " + ", ".join(valid),
            capability,
            "remove it; GPUs of this compute capability need another product",
        )
        for capability in request.compute_capabilities
        if capability not in valid
    ]


def configure(trt: Any, builder: Any, request: BuildRequest) -> Any:
    """A builder configuration with the options; what is `None` stays as the product has it."""
    config = builder.create_builder_config()
    names = compute_capability_names(trt)
    config.num_compute_capabilities = len(request.compute_capabilities)
    for index, capability in enumerate(request.compute_capabilities):
        target = trt.ComputeCapability.__members__[names[capability]]
        config.set_compute_capability(target, index)
    if request.optimization_level is not None:
        config.builder_optimization_level = request.optimization_level
    if request.max_aux_streams is not None:
        config.max_aux_streams = request.max_aux_streams
    if request.tiling_optimization_level is not None:
        levels = trt.TilingOptimizationLevel.__members__
        config.tiling_optimization_level = levels[request.tiling_optimization_level.upper()]
    for pool, limit in request.memory_pool_limits.items():
        config.set_memory_pool_limit(trt.MemoryPoolType.__members__[pool.upper()], limit)
    if request.weight_streaming:
        config.set_flag(trt.BuilderFlag.WEIGHT_STREAMING)
    return config


def add_profile(builder: Any, config: Any, profile: OptimizationProfile) -> None:
    native = builder.create_optimization_profile()
    for tensor, (low, best, high) in profile.shapes.items():
        native.set_shape(tensor, low, best, high)
    config.add_optimization_profile(native)
