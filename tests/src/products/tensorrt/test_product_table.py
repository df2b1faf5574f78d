"""The product table against the builder: what it lists builds, what it leaves out is refused.

One product of two matrices for each precision and capability, without a GPU. fp4 is left out: the
table has it from the documents alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import tensorrt_rtx_bindings as trt
from onnx import TensorProto, helper

from enginewright.compatibility.product import product_row

SIZE = 64
CAPABILITIES = ("7.5", "8.0", "8.6", "8.9", "12.0", "12.1")
PRECISIONS = ("fp32", "fp16", "bf16", "int8", "int4", "fp8")
UNDOCUMENTED = ("7.5", "int8")
"""Builds, though the support matrix says no: the table follows the document."""


def constant(name: str, dtype: int, shape: list[int], data: bytes) -> onnx.TensorProto:
    return helper.make_tensor(name, dtype, shape, data, raw=True)


def ones(name: str, dtype: int, shape: list[int]) -> onnx.TensorProto:
    count = int(np.prod(shape))
    one = {
        TensorProto.FLOAT: np.float32(1).tobytes(),
        TensorProto.FLOAT16: np.float16(1).tobytes(),
        TensorProto.BFLOAT16: b"\x80\x3f",
        TensorProto.INT8: b"\x01",
        TensorProto.FLOAT8E4M3FN: b"\x38",
    }
    return constant(name, dtype, shape, one[dtype] * count)


def product_of_matrices(precision: str) -> bytes:
    half = TensorProto.FLOAT16
    dtype = {"fp32": TensorProto.FLOAT, "bf16": TensorProto.BFLOAT16}.get(precision, half)
    square = [SIZE, SIZE]
    left, right = "x", "w"
    nodes, constants = [], []
    if precision in ("fp32", "fp16", "bf16"):
        constants = [ones("w", dtype, square)]
    elif precision == "int8":
        constants = [ones("q", TensorProto.INT8, square), ones("s", half, [SIZE])]
        nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1)]
    elif precision == "int4":
        packed = constant("q", TensorProto.INT4, square, b"\x11" * (SIZE * SIZE // 2))
        constants = [packed, ones("s", half, [SIZE // 32, SIZE])]
        nodes = [helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=0, block_size=32)]
    else:
        constants = [ones("q", TensorProto.FLOAT8E4M3FN, square), ones("s", half, [])]
        left = "a"
        nodes = [
            helper.make_node(
                "QuantizeLinear", ["x", "s"], ["p"], output_dtype=TensorProto.FLOAT8E4M3FN
            ),
            helper.make_node("DequantizeLinear", ["p", "s"], ["a"]),
            helper.make_node("DequantizeLinear", ["q", "s"], ["w"]),
        ]
    nodes.append(helper.make_node("MatMul", [left, right], ["y"]))
    values = [helper.make_tensor_value_info(name, dtype, [8, SIZE]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    opset = [helper.make_opsetid("", 23)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=11).SerializeToString())


@pytest.fixture(scope="module")
def builder() -> Any:
    return trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_the_table_lists_builds_and_nothing_else(
    builder: Any, capability: str, precision: str
) -> None:
    row = product_row("tensorrt-rtx", trt.__version__)
    assert row is not None, f"no row for tensorrt-rtx {trt.__version__}"
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, trt.Logger(trt.Logger.INTERNAL_ERROR))
    assert parser.parse(product_of_matrices(precision))
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    target = getattr(trt.ComputeCapability, "SM" + capability.replace(".", ""))
    config.set_compute_capability(target, 0)
    built = builder.build_serialized_network(network, config) is not None
    listed = precision in row["precisions"][capability]
    assert built is (listed or (capability, precision) == UNDOCUMENTED)


def test_the_table_has_every_capability_that_the_bindings_have() -> None:
    row = product_row("tensorrt-rtx", trt.__version__)
    assert row is not None
    names = {name for name in dir(trt.ComputeCapability) if name.startswith("SM")}
    assert names == {"SM" + capability.replace(".", "") for capability in row["precisions"]}
