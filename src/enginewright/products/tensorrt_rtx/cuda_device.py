"""Whether this host has a GPU that can run a TensorRT for RTX plan, asked before loading it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from enginewright.compatibility.product import precisions_on
from enginewright.compatibility.tables import table
from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError, Problem


@dataclass(frozen=True)
class CudaDevice:
    name: str
    compute_capability: str
    """Such as `8.9`."""


def find_device() -> CudaDevice | None:
    """The first CUDA device of this process, or None without a device or driver."""
    from cuda.bindings import runtime

    error, count = runtime.cudaGetDeviceCount()
    if error != runtime.cudaError_t.cudaSuccess or not count:
        return None
    error, properties = runtime.cudaGetDeviceProperties(0)
    if error != runtime.cudaError_t.cudaSuccess:
        return None
    name = properties.name.decode(errors="replace").rstrip("\0")
    return CudaDevice(name, f"{properties.major}.{properties.minor}")


def check_device(
    device: CudaDevice | None, compute_capabilities: Sequence[str], engine: Path
) -> None:
    """Raise `InputError` unless the plan was built for the device."""
    expected = "a GPU of compute capability " + ", ".join(compute_capabilities)
    if device is None:
        raise InputError(
            Problem(
                "a TensorRT for RTX plan needs a GPU, and this host shows none",
                str(engine),
                expected,
                "no CUDA device or driver",
                "use an `onnxruntime_engine` on hosts without a GPU",
            )
        )
    if device.compute_capability in compute_capabilities:
        return
    capability = ComputeCapability.parse(device.compute_capability)
    rows = [row for key, row in table("product").items() if key.startswith("tensorrt-rtx ")]
    supported = any(precisions_on(row, capability) is not None for row in rows)
    raise InputError(
        Problem(
            "the plan was not built for this GPU",
            str(engine),
            expected,
            f"{device.name}, compute capability {device.compute_capability}",
            f'add "{capability}" to `compute_capabilities` and build again'
            if supported
            else "TensorRT for RTX does not support this GPU at all: use another product",
        )
    )
