"""The number types of ONNX: their names elsewhere and their sizes. The only table of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from onnx import TensorProto, helper

_BITS = {
    2: ("INT2", "UINT2"),
    4: ("FLOAT4E2M1", "INT4", "UINT4"),
    6: ("FLOAT6E2M3", "FLOAT6E3M2"),
    8: (
        "BOOL", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0",
        "INT8", "UINT8",
    ),
    16: ("BFLOAT16", "FLOAT16", "INT16", "UINT16"),
    32: ("FLOAT", "INT32", "UINT32"),
    64: ("COMPLEX64", "DOUBLE", "INT64", "UINT64"),
    128: ("COMPLEX128",),
}  # fmt: skip


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


def _data_type(onnx_name: str, bits: int) -> DataType:
    number = TensorProto.DataType.Value(onnx_name)
    numpy_type = np.dtype(helper.tensor_dtype_to_np_dtype(number))
    return DataType(number, onnx_name, numpy_type.name, bits, numpy_type)


DATA_TYPES: Mapping[int, DataType] = MappingProxyType(
    {
        row.onnx: row
        for bits, names in _BITS.items()
        for row in (_data_type(name, bits) for name in names)
    }
)
"""By value of `TensorProto.DataType`; texts are no numbers and not among them."""
