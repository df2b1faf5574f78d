"""How TensorRT for RTX takes part in the shared builder.

The memory pools come from trying every option of 1.7.1.116 on a host without a GPU:
what the library refuses is left out, so that a request for it is an error.
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
    memory_pools=("tactic_dram", "tactic_shared_memory", "workspace"),
)
