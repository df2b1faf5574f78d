"""The number types of tensors: what each is called where, and its size. The only table of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Dtype:
    name: str
    """As numpy and ml_dtypes call it, and `engine.json`: `float32`, `bfloat16`."""
    onnx: str
    """As `onnx.TensorProto.DataType` calls it: `FLOAT`, `BFLOAT16`."""
    bits: int
    """Of one element."""
    safetensors: str | None = None
    """As the header of a safetensors file says it (library 0.8); None where it cannot."""

    @property
    def onnxruntime(self) -> str:
        """As ONNX Runtime calls the type of an input or output: `tensor(float)`."""
        return f"tensor({self.onnx.lower()})"


DTYPES = (
    Dtype("bool", "BOOL", 8, "BOOL"),
    Dtype("int2", "INT2", 2),
    Dtype("uint2", "UINT2", 2),
    Dtype("int4", "INT4", 4),
    Dtype("uint4", "UINT4", 4),
    Dtype("int8", "INT8", 8, "I8"),
    Dtype("uint8", "UINT8", 8, "U8"),
    Dtype("int16", "INT16", 16, "I16"),
    Dtype("uint16", "UINT16", 16, "U16"),
    Dtype("int32", "INT32", 32, "I32"),
    Dtype("uint32", "UINT32", 32, "U32"),
    Dtype("int64", "INT64", 64, "I64"),
    Dtype("uint64", "UINT64", 64, "U64"),
    Dtype("float4_e2m1fn", "FLOAT4E2M1", 4, "F4"),
    Dtype("float6_e2m3fn", "FLOAT6E2M3", 6, "F6_E2M3"),
    Dtype("float6_e3m2fn", "FLOAT6E3M2", 6, "F6_E3M2"),
    Dtype("float8_e4m3fn", "FLOAT8E4M3FN", 8, "F8_E4M3"),
    Dtype("float8_e4m3fnuz", "FLOAT8E4M3FNUZ", 8, "F8_E4M3FNUZ"),
    Dtype("float8_e5m2", "FLOAT8E5M2", 8, "F8_E5M2"),
    Dtype("float8_e5m2fnuz", "FLOAT8E5M2FNUZ", 8, "F8_E5M2FNUZ"),
    Dtype("float8_e8m0fnu", "FLOAT8E8M0", 8, "F8_E8M0"),
    Dtype("float16", "FLOAT16", 16, "F16"),
    Dtype("bfloat16", "BFLOAT16", 16, "BF16"),
    Dtype("float32", "FLOAT", 32, "F32"),
    Dtype("float64", "DOUBLE", 64, "F64"),
    Dtype("complex64", "COMPLEX64", 64, "C64"),
    Dtype("complex128", "COMPLEX128", 128),
)

BY_NAME: Mapping[str, Dtype] = MappingProxyType({row.name: row for row in DTYPES})
BY_SAFETENSORS: Mapping[str, Dtype] = MappingProxyType(
    {row.safetensors: row for row in DTYPES if row.safetensors is not None}
)
BY_ONNXRUNTIME: Mapping[str, Dtype] = MappingProxyType({row.onnxruntime: row for row in DTYPES})

COMPUTED = ("float32", "float16", "bfloat16")
"""Names of what a model can be computed in."""
