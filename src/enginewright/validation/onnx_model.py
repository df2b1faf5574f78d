"""An ONNX model in ONNX Runtime, on the CPU and nowhere else."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]

from enginewright.errors import InputError, Problem
from enginewright.passes.bfloat16_emulation import uses_bfloat16, write_without_bfloat16
from enginewright.validation.comparison import Array

PROVIDER = "CPUExecutionProvider"
_AS_IT_IS = "as ONNX Runtime has it"
_EMULATED = "bfloat16 emulated: float32 kernels, each result rounded to bfloat16"
_NUMPY = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


@dataclass(frozen=True)
class OnnxModel:
    session: Any
    arithmetic: str
    """How the numbers came about, for the report."""

    @classmethod
    def load(cls, path: Path, threads: int) -> OnnxModel:
        """Raise `InputError` when ONNX Runtime refuses the model or takes it off the CPU."""
        try:
            session, emulated = _open(path, threads)
        except InputError:
            raise
        except Exception as error:  # exceptions of onnx, protobuf and the runtime: no common base
            raise InputError(
                Problem("ONNX Runtime refuses the model", str(path), actual=str(error))
            ) from error
        active = session.get_providers()
        if active != [PROVIDER]:
            raise InputError(
                Problem("session runs elsewhere", str(path), PROVIDER, ", ".join(active))
            )
        return cls(session, _EMULATED if emulated else _AS_IT_IS)

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(value.name for value in self.session.get_inputs())

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(value.name for value in self.session.get_outputs())

    @property
    def last_logits_only(self) -> bool:
        """Whether the output `logits` [batch, sequence, vocabulary] has a sequence of just 1."""
        return any(
            value.name == "logits" and len(value.shape) == 3 and value.shape[1] == 1
            for value in self.session.get_outputs()
        )

    def run(
        self, input_ids: Array, attention_mask: Array, past: dict[str, Array] | None = None
    ) -> dict[str, Array]:
        """Feed what the model takes of the standard inputs; outputs by name.

        input_ids and attention_mask: int64 [batch, sequence], with 0 in the mask where the input
        is padding. `past`: `past_key_values.N.key` and `.value`, empty when left out; then the
        mask also covers the past tokens.
        """
        feeds = {
            value.name: self._feed(value, input_ids, attention_mask, past or {})
            for value in self.session.get_inputs()
        }
        try:
            results = self.session.run(None, feeds)
        except Exception as error:  # the library's exceptions have no common base class
            shapes = ", ".join(f"{name} {list(value.shape)}" for name, value in feeds.items())
            raise InputError(
                Problem("ONNX Runtime cannot run the model", f"inputs {shapes}", actual=str(error))
            ) from error
        return dict(zip(self.output_names, results, strict=True))

    def _feed(self, value: Any, ids: Array, mask: Array, past: dict[str, Array]) -> Array:
        dtype = _NUMPY.get(value.type)
        if dtype is None:
            raise InputError(
                Problem(f"input `{value.name}` has a dtype that cannot be fed", actual=value.type)
            )
        if value.name in past:
            return past[value.name]
        if value.name == "input_ids":
            return ids.astype(dtype)
        if value.name == "attention_mask":
            return mask.astype(dtype)
        if value.name == "position_ids":
            positions = np.maximum(mask.cumsum(axis=1) - 1, 0)
            return np.asarray(positions[:, -ids.shape[1] :].astype(dtype))
        if value.name == "token_type_ids":
            return np.zeros(ids.shape, dtype)
        if value.name.startswith("past_key_values."):
            # [batch, heads, past, head size]; the past is the dim without a size, and empty.
            heads, head_size = value.shape[1], value.shape[3]
            return np.zeros((len(ids), heads, 0, head_size), dtype)
        known = "input_ids, attention_mask, position_ids, token_type_ids, past_key_values.*"
        raise InputError(Problem(f"input `{value.name}` is not known", "ONNX model", known))


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
