"""How TensorRT for RTX takes part in the shared builder.

The tables of accepted options come from trying every option of 1.7.1.116 on a host without a GPU:
what the library refuses or ignores is left out, so that a request for it is an error.
"""

from __future__ import annotations

from typing import Any

from enginewright.products.tensorrt.variant import Variant


def _import_tensorrt_rtx() -> Any:
    # The wheel of the bindings; `tensorrt_rtx` is a source distribution that renames it.
    import tensorrt_rtx_bindings  # type: ignore[import-untyped]

    return tensorrt_rtx_bindings


TENSORRT_RTX = Variant(
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
