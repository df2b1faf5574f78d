"""Executes a TensorRT for RTX plan.

NEVER RUN: no GPU that TensorRT for RTX supports was at hand. It follows the library's Python API
and imports; what it refuses without a GPU is tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import tensorrt_rtx as trt
from cuda.bindings import runtime as cuda

from enginewright.engines.backend import Array, Held
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem


@dataclass
class DeviceTensor:
    """Memory of the device, freed with the last reference."""

    address: int
    shape: tuple[int, ...]
    bytes: int

    def __del__(self) -> None:
        cuda.cudaFree(self.address)


class TensorRtRtxBackend:
    def __init__(self, plan: Path, tensors: Sequence[EngineTensor]) -> None:
        self._dtypes = {tensor.name: _dtype(tensor.dtype) for tensor in tensors}
        self._tensors = {tensor.name: tensor for tensor in tensors}
        logger = trt.Logger(trt.Logger.WARNING)
        self._runtime = trt.Runtime(logger)
        self._engine = self._runtime.deserialize_cuda_engine(plan.read_bytes())
        if self._engine is None:
            raise InputError(
                Problem(
                    "TensorRT for RTX refused the plan",
                    str(plan),
                    fix="the library's own message above says why",
                )
            )
        self._context = self._engine.create_execution_context()
        self._stream = _checked(cuda.cudaStreamCreate())

    def empty(self, name: str, batch: int) -> DeviceTensor:
        shape = tuple(
            size if isinstance(size, int) else batch if size == "batch" else 0
            for size in self._tensors[name].shape
        )
        return self._allocate(name, shape)

    def run(
        self, inputs: Mapping[str, Array | Held], outputs: Sequence[str], held: Sequence[str] = ()
    ) -> tuple[Mapping[str, Array], Mapping[str, Held]]:
        on_device = {
            name: value if isinstance(value, DeviceTensor) else self._upload(name, value)
            for name, value in inputs.items()
        }
        self._choose_profile({name: value.shape for name, value in on_device.items()})
        for name, value in on_device.items():
            self._context.set_input_shape(name, value.shape)
            self._context.set_tensor_address(name, value.address)
        results = {}
        for name in (t.name for t in self._tensors.values() if t.mode == "output"):
            results[name] = self._allocate(name, tuple(self._context.get_tensor_shape(name)))
            self._context.set_tensor_address(name, results[name].address)
        if not self._context.execute_async_v3(self._stream):
            raise RuntimeError("TensorRT for RTX could not execute the plan")
        _checked(cuda.cudaStreamSynchronize(self._stream))
        return (
            {name: self._download(name, results[name]) for name in outputs},
            {name: results[name] for name in held},
        )

    def device_bytes(self) -> int | None:
        free, total = _checked(cuda.cudaMemGetInfo())
        return int(total - free)

    def _choose_profile(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """The first profile whose ranges hold all `shapes`."""
        for index in range(self._engine.num_optimization_profiles):
            if all(self._fits(name, shape, index) for name, shape in shapes.items()):
                if self._context.active_optimization_profile != index:
                    self._context.set_optimization_profile_async(index, self._stream)
                return
        given = ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items())[:4])
        raise InputError(
            Problem(
                "no optimization profile holds these shapes", "engine.json, `own.profiles`", given
            )
        )

    def _fits(self, name: str, shape: tuple[int, ...], profile: int) -> bool:
        lowest, _, highest = self._engine.get_tensor_profile_shape(name, profile)
        return all(
            low <= size <= high for low, size, high in zip(lowest, shape, highest, strict=True)
        )

    def _allocate(self, name: str, shape: tuple[int, ...]) -> DeviceTensor:
        size = int(np.prod(shape, dtype=np.int64)) * self._dtypes[name].itemsize
        # An empty tensor still needs an address.
        return DeviceTensor(int(_checked(cuda.cudaMalloc(max(size, 1)))), shape, size)

    def _upload(self, name: str, value: Array) -> DeviceTensor:
        array = np.ascontiguousarray(value, self._dtypes[name])
        tensor = self._allocate(name, array.shape)
        kind = cuda.cudaMemcpyKind.cudaMemcpyHostToDevice
        _checked(cuda.cudaMemcpy(tensor.address, array.ctypes.data, tensor.bytes, kind))
        return tensor

    def _download(self, name: str, tensor: DeviceTensor) -> Array:
        array = np.empty(tensor.shape, self._dtypes[name])
        kind = cuda.cudaMemcpyKind.cudaMemcpyDeviceToHost
        _checked(cuda.cudaMemcpy(array.ctypes.data, tensor.address, tensor.bytes, kind))
        return array


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def _checked(result: tuple[Any, ...]) -> Any:
    """The value of a call to the CUDA runtime; raises `RuntimeError` with its error."""
    error, *values = result
    if error != cuda.cudaError_t.cudaSuccess:
        raise RuntimeError(f"CUDA: {error.name}")
    return values[0] if len(values) == 1 else tuple(values)
