"""Executes an ONNX Runtime engine on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]

from enginewright.document import decode
from enginewright.engines.backend import Array, Backend, Held
from enginewright.engines.package import EnginePackage
from enginewright.engines.tensor import EngineTensor
from enginewright.products.onnxruntime.operators import register_operators
from enginewright.products.onnxruntime.options import PROVIDERS
from enginewright.products.onnxruntime.table import OnnxRuntimeTable


def open_backend(package: EnginePackage, threads: int) -> Backend:
    table = decode(OnnxRuntimeTable, package.manifest.own, f"{package.folder}, engine.json, own")
    return OnnxRuntimeBackend(package.folder / table.model, package.tensors, table, threads)


class OnnxRuntimeBackend:
    def __init__(
        self,
        model: Path,
        tensors: Sequence[EngineTensor],
        table: OnnxRuntimeTable,
        threads: int = 0,
    ) -> None:
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        settings.intra_op_num_threads = threads
        # The engine is optimized already; doing it again costs time at each start.
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        if table.operators is not None:
            register_operators(settings, model.parent / table.operators)
        self._session = onnxruntime.InferenceSession(
            str(model), settings, providers=[PROVIDERS[table.options.provider]]
        )
        self._tensors = {tensor.name: tensor for tensor in tensors}

    def empty(self, name: str, batch: int) -> Array:
        tensor = self._tensors[name]
        shape = [
            size if isinstance(size, int) else batch if size == "batch" else 0
            for size in tensor.shape
        ]
        return np.zeros(shape, np.dtype(tensor.dtype))

    def run(
        self, inputs: Mapping[str, Array | Held], outputs: Sequence[str], held: Sequence[str] = ()
    ) -> tuple[Mapping[str, Array], Mapping[str, Held]]:
        names = [*outputs, *held]
        values = dict(zip(names, self._session.run(names, dict(inputs)), strict=True))
        return {name: values[name] for name in outputs}, {name: values[name] for name in held}

    def device_bytes(self) -> int | None:
        return None
