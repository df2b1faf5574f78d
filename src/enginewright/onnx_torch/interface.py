"""Inputs and outputs of an ONNX graph as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx

_DTYPES: Mapping[int, str] = {
    onnx.TensorProto.BFLOAT16: "bfloat16",
    onnx.TensorProto.BOOL: "bool",
    onnx.TensorProto.FLOAT: "float32",
    onnx.TensorProto.FLOAT16: "float16",
    onnx.TensorProto.INT32: "int32",
    onnx.TensorProto.INT64: "int64",
}


def describe_interface(model: onnx.ModelProto) -> dict[str, list[dict[str, Any]]]:
    """`inputs` and `outputs`: name, dtype, and shape as sizes and names of dynamic axes."""
    return {
        "inputs": [_describe(value) for value in model.graph.input],
        "outputs": [_describe(value) for value in model.graph.output],
    }


def _describe(value: onnx.ValueInfoProto) -> dict[str, Any]:
    tensor = value.type.tensor_type
    shape = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]
    return {"name": value.name, "dtype": _DTYPES[tensor.elem_type], "shape": shape}
