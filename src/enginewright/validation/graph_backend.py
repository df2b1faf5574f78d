"""An ONNX graph in ONNX Runtime on the CPU: stands for an engine that this host cannot run."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnxruntime  # type: ignore[import-untyped]

from enginewright.dtype import BY_ONNXRUNTIME
from enginewright.engines.backend import Array, Held
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem
from enginewright.passes.bfloat16_emulation import uses_bfloat16, write_without_bfloat16

LIBRARY = "ONNX Runtime"
PROVIDER = "CPUExecutionProvider"
_AS_IT_IS = "as ONNX Runtime has it"
_EMULATED = "bfloat16 emulated: float32 kernels, each result rounded to bfloat16"
_FED = (
    "bool", "float64", "float32", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64",
)  # fmt: skip


class GraphBackend:
    def __init__(self, path: Path, threads: int) -> None:
        """Raises `InputError` when ONNX Runtime refuses the model or takes it off the CPU."""
        try:
            self._session, is_emulated = _open(path, threads)
        except InputError:
            raise
        except Exception as error:  # exceptions of onnx, protobuf and the runtime: no common base
            what = "ONNX Runtime refuses the model"
            raise InputError(Problem(what, str(path), actual=str(error))) from error
        active = self._session.get_providers()
        if active != [PROVIDER]:
            what = "session runs elsewhere"
            raise InputError(Problem(what, str(path), PROVIDER, ", ".join(active)))
        self.arithmetic = _EMULATED if is_emulated else _AS_IT_IS
        """How the numbers came about, for the report."""
        self.tensors = (
            *(_describe(value, "input", path) for value in self._session.get_inputs()),
            *(_describe(value, "output", path) for value in self._session.get_outputs()),
        )
        """In bfloat16 where it is emulated: as the session takes them, float32."""

    def empty(self, name: str, batch: int) -> Array:
        """Input `name` [batch, ...] whose other dynamic dims are 0."""
        tensor = next(tensor for tensor in self.tensors if tensor.name == name)
        rest = [size if isinstance(size, int) else 0 for size in tensor.shape[1:]]
        return np.zeros([batch, *rest], np.dtype(tensor.dtype))

    def run(
        self, inputs: Mapping[str, Array | Held], outputs: Sequence[str], held: Sequence[str] = ()
    ) -> tuple[Mapping[str, Array], Mapping[str, Held]]:
        """Raises `InputError` for shapes that the graph does not take."""
        names = [*outputs, *held]
        try:
            values = dict(zip(names, self._session.run(names, dict(inputs)), strict=True))
        except Exception as error:  # the library's exceptions have no common base class
            shapes = ", ".join(f"{name} {list(value.shape)}" for name, value in inputs.items())
            what = "ONNX Runtime cannot run the model"
            raise InputError(Problem(what, f"inputs {shapes}", actual=str(error))) from error
        return {name: values[name] for name in outputs}, {name: values[name] for name in held}

    def device_bytes(self) -> int | None:
        return None


def _open(path: Path, threads: int) -> tuple[Any, bool]:
    """A session, and whether bfloat16 is emulated in it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if not uses_bfloat16(path):
        return onnxruntime.InferenceSession(str(path), options, providers=[PROVIDER]), False
    # The optimizer would remove the roundings, which change values on purpose.
    level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.graph_optimization_level = level
    with tempfile.TemporaryDirectory() as folder:
        source = write_without_bfloat16(path, Path(folder))
        return onnxruntime.InferenceSession(str(source), options, providers=[PROVIDER]), True


def _describe(value: Any, mode: Literal["input", "output"], path: Path) -> EngineTensor:
    dtype = BY_ONNXRUNTIME.get(value.type)
    if dtype is None or dtype.name not in _FED:
        what = f"{mode} `{value.name}` has a dtype that cannot be fed"
        raise InputError(Problem(what, str(path), ", ".join(_FED), value.type))
    shape = tuple(
        dim if isinstance(dim, int) else dim or f"{value.name}:{index}"
        for index, dim in enumerate(value.shape)
    )
    return EngineTensor(value.name, mode, dtype.name, shape)
