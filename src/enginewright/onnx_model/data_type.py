"""The number types of ONNX by their values there; the table is `enginewright.dtype`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from enginewright.dtype import DTYPES, Dtype


@dataclass(frozen=True)
class DataType:
    onnx: int
    """A value of `TensorProto.DataType`."""
    onnx_name: str
    """As `TensorProto.DataType` calls it: `FLOAT`, `BFLOAT16`."""
    name: str
    """As numpy and ml_dtypes call it: `float32`, `bfloat16`."""
    bits: int
    """Of one element."""
    numpy: np.dtype[Any]
    """For an element that is not packed."""

    @property
    def is_floating(self) -> bool:
        """Complex numbers too."""
        return self.onnx_name.startswith(("FLOAT", "BFLOAT", "DOUBLE", "COMPLEX"))

    def bytes_of(self, shape: Sequence[int]) -> int:
        """Bytes of a tensor; types below a byte are packed, and the last byte is filled up."""
        return -(-self.bits * math.prod(shape) // 8)


def _data_type(dtype: Dtype) -> DataType:
    number = TensorProto.DataType.Value(dtype.onnx)
    numpy_type = np.dtype(helper.tensor_dtype_to_np_dtype(number))
    return DataType(number, dtype.onnx, dtype.name, dtype.bits, numpy_type)


DATA_TYPES: Mapping[int, DataType] = MappingProxyType(
    {row.onnx: row for row in map(_data_type, DTYPES)}
)
"""By value of `TensorProto.DataType`; texts are no numbers and not among them."""
