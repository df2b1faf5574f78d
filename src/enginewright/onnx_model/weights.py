"""Reads the initializers of an ONNX model from the files beside it, without copying them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from enginewright.errors import InputError, Problem

FLOAT_TYPES: Mapping[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype("<f4"),
    TensorProto.FLOAT16: np.dtype("<f2"),
    TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
}


class ModelWeights:
    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        """By the name that external data calls them."""
        self._maps: dict[str, NDArray[np.uint8]] = {}

    def bytes_of(self, tensor: TensorProto) -> NDArray[np.uint8]:
        """The stored bytes, a read-only view of the file where the tensor is external."""
        if tensor.data_location != TensorProto.EXTERNAL:
            return np.frombuffer(tensor.raw_data or _raw(tensor), np.uint8)
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries["location"]
        if location not in self._maps:
            if location not in self._files:
                known = ", ".join(sorted(self._files)) or "no files"
                raise InputError(
                    Problem(
                        "a file with weights of the model is missing",
                        f"tensor `{tensor.name}`",
                        location,
                        known,
                    )
                )
            self._maps[location] = np.memmap(self._files[location], np.uint8, mode="r")
        begin = int(entries.get("offset", "0"))
        file = self._maps[location]
        end = begin + int(entries["length"]) if "length" in entries else len(file)
        if end > len(file):
            raise InputError(
                Problem(
                    "the weights end too early",
                    f"{location}, tensor `{tensor.name}`",
                    f"{end} bytes",
                    f"{len(file)} bytes",
                )
            )
        return file[begin:end]

    def floats(self, tensor: TensorProto) -> NDArray[np.float32]:
        """The tensor in float32, in its own shape."""
        stored = self.bytes_of(tensor).view(FLOAT_TYPES[tensor.data_type])
        return stored.reshape(tuple(tensor.dims)).astype(np.float32)


def _raw(tensor: TensorProto) -> bytes:
    return bytes(numpy_helper.to_array(tensor).tobytes())
