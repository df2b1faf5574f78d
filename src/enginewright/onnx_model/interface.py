"""Inputs and outputs of an ONNX graph as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx

from enginewright.errors import Problem, raise_if_any

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


def check_axes(
    interface: Mapping[str, list[dict[str, Any]]],
    axes: Mapping[str, tuple[str, ...]],
    dynamic: tuple[str, ...],
) -> None:
    """Raise `InputError` where the graph has not kept an axis that was asked to be dynamic.

    `axes` are the names of the leading dimensions of each input and output.
    """
    raise_if_any(
        [
            Problem(
                "an axis that was asked to be dynamic is fixed in the exported graph",
                f"tensor `{value['name']}`, dimension {position}",
                f"`{axis}`",
                str(value["shape"][position]),
                "the model's code fixes the size: leave the axis out of `dynamic_axes`",
            )
            for value in [*interface["inputs"], *interface["outputs"]]
            for position, axis in enumerate(axes[value["name"]])
            if axis in dynamic and value["shape"][position] != axis
        ]
    )


def _describe(value: onnx.ValueInfoProto) -> dict[str, Any]:
    tensor = value.type.tensor_type
    shape = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]
    return {"name": value.name, "dtype": _DTYPES[tensor.elem_type], "shape": shape}
