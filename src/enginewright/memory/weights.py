"""Bytes of a checkpoint's weights, from the headers of its safetensors files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from enginewright.checkpoint.safetensors_header import Header, TensorInfo, read_header
from enginewright.checkpoint.shard_index import index_problems, read_index
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.memory.kv_cache import DTYPE_BYTES

_CONVERTED = {"F64", "F32", "F16", "BF16"}
"""Stored dtypes that a runtime converts to the dtype it computes in."""


@dataclass(frozen=True)
class Weights:
    """Bytes on one GPU: `shared` is divided between the GPUs, `repeated` is on each."""

    shared: int
    repeated: int

    def on_one(self, tensor_parallel: int) -> int:
        return -(-self.shared // tensor_parallel) + self.repeated


def read_weights(folder: Path, dtype: str) -> Weights:
    """Weights of the folder as a runtime loads them in `dtype`; raise `InputError` for bad files.

    Quantized tensors keep the size that they are stored in.
    """
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        fix = "name the folder of a checkpoint with safetensors files"
        raise InputError(Problem("no weights", str(folder), "*.safetensors", "none", fix))
    headers: dict[str, Header] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            headers[path.name] = read_header(path)
        except InputError as error:
            problems += error.problems
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        problems += index_problems(read_index(index), {path.name for path in paths}, headers)
    raise_if_any(problems)
    return sum_weights(list(headers.values()), dtype)


def sum_weights(headers: list[Header], dtype: str) -> Weights:
    """Matrices are divided between GPUs, vectors (norms, biases) are repeated."""
    shared = repeated = 0
    for header in headers:
        for tensor in header.tensors:
            size = _bytes(tensor, dtype)
            if len(tensor.shape) > 1:
                shared += size
            else:
                repeated += size
    return Weights(shared, repeated)


def _bytes(tensor: TensorInfo, dtype: str) -> int:
    if tensor.dtype in _CONVERTED:
        return math.prod(tensor.shape) * DTYPE_BYTES[dtype]
    return tensor.end - tensor.begin
