"""What differs between the products that share the TensorRT builder API; nothing else knows it.

A second product (TensorRT itself) is a second `Product` here. Only TensorRT for RTX has been run.
The tables of accepted options come from trying every option of 1.7.1.116 on a host without a GPU:
what the library refuses or ignores is left out, so that a request for it is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _import_tensorrt_rtx() -> Any:
    # The wheel of the bindings; `tensorrt_rtx` is a source distribution that renames it.
    import tensorrt_rtx_bindings  # type: ignore[import-untyped]

    return tensorrt_rtx_bindings


@dataclass(frozen=True)
class Product:
    name: str
    load: Callable[[], Any]
    """Imports the Python module, whose shared libraries are loaded by that."""
    core_library: str
    """Prefix of the file name of the library that holds the version functions."""
    library_prefixes: tuple[str, ...]
    """File names with these prefixes belong to the toolchain and must be listed in it."""
    has_compute_capabilities: bool
    """Targets are set on the builder; if not, the engine is for the device that built it."""
    builder_flags: tuple[str, ...]
    memory_pools: tuple[str, ...]
    engine_capabilities: tuple[str, ...]
    runtime_platforms: tuple[str, ...]


TENSORRT_RTX = Product(
    name="tensorrt-rtx",
    load=_import_tensorrt_rtx,
    core_library="libtensorrt_rtx.so",
    library_prefixes=("libtensorrt", "tensorrt", "libnvinfer", "libnvonnxparser", "libcudart"),
    has_compute_capabilities=True,
    # `refit`, `refit_identical` and `strip_plan` work only where the builder finds a CUDA device.
    builder_flags=(
        "disable_compilation_cache",
        "disable_timing_cache",
        "distributive_independence",
        "monitor_memory",
        "refit",
        "refit_identical",
        "refit_individual",
        "require_user_allocation",
        "sparse_weights",
        "strict_nans",
        "strip_plan",
        "tf32",
    ),
    memory_pools=("tactic_dram", "tactic_shared_memory", "workspace"),
    engine_capabilities=("standard",),
    # The library for Linux refuses `windows_amd64`.
    runtime_platforms=("same_as_build",),
)

PRODUCTS = {product.name: product for product in (TENSORRT_RTX,)}
