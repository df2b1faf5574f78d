"""Rewrites a model: weight matrices become integers with a DequantizeLinear before their MatMul.

The integers lie as [inputs, outputs], so that groups run along axis 0: TensorRT for RTX takes both
orders, ONNX Runtime fuses only this one (into MatMulNBits). Two int4 share a byte, the first in its
low half (https://onnx.ai/onnx/technical/int4.html).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper

from enginewright.onnx_model.tensors import all_tensors
from enginewright.onnx_model.weights import FLOAT_TYPES, ModelWeights
from enginewright.passes.quantization.matrix_weights import MatrixWeight, find_matrix_weights
from enginewright.passes.quantization.rounding import quantize_matrix
from enginewright.passes.quantization.scheme import Scheme

DATA_FILE = "model.quantized.data"
ALIGNMENT = 4096
"""Offsets that a loader can map into memory on every common page size."""
INLINE_BYTES = 1024
"""Initializers up to this size stay inside the graph: shapes and scalars are read by parsers."""


@dataclass(frozen=True)
class TensorReport:
    name: str
    elements: int
    bytes_before: int
    bytes_after: int
    """Scales included."""
    relative_error: float
    """Square root of (sum of squared errors / sum of squared weights); 0 for kept weights."""
    kept: str
    """Why the weight stayed as it was; empty when it was quantized."""


@dataclass(frozen=True)
class QuantizedModel:
    model: ModelProto
    tensors: tuple[TensorReport, ...]
    """Weight matrices in the order of the graph, then those that were kept."""
    indivisible: tuple[int, ...]
    """Inputs of each weight that was kept because the group size does not divide them."""


def quantize_model(
    model: ModelProto,
    weights: ModelWeights,
    scheme: Scheme,
    data_file: Path,
    progress: Callable[[str], None],
) -> QuantizedModel:
    """Write all weights to `data_file` and return the model that reads them from beside it."""
    chosen, kept = find_matrix_weights(model.graph, scheme)
    by_name = {weight.tensor.name: weight for weight in chosen}
    reports: dict[str, TensorReport] = {}
    initializers: list[TensorProto] = []
    dequantizers: dict[str, NodeProto] = {}
    with data_file.open("wb") as stream:
        for tensor in model.graph.initializer:
            weight = by_name.get(tensor.name)
            if weight is None:
                initializers.append(_copy(tensor, weights, stream))
                continue
            progress(f"{tensor.name}, {len(reports) + 1} of {len(chosen)}")
            parts, node, report = _quantize(weight, weights, scheme, stream)
            initializers += parts
            dequantizers[weight.value] = node
            reports[tensor.name] = report
        model = _with_inner_tensors(model, weights, stream)
    for item in kept:
        size = len(weights.bytes_of(item.tensor))
        elements = math.prod(item.tensor.dims)
        reports[item.tensor.name] = TensorReport(
            item.tensor.name, elements, size, size, 0.0, item.reason
        )
    return QuantizedModel(
        _rewrite(model, initializers, dequantizers),
        tuple(reports.values()),
        tuple(item.indivisible for item in kept if item.indivisible),
    )


def _rewrite(
    model: ModelProto, initializers: Sequence[TensorProto], dequantizers: dict[str, NodeProto]
) -> ModelProto:
    result = ModelProto()
    result.CopyFrom(model)
    del result.graph.initializer[:]
    result.graph.initializer.extend(initializers)
    del result.graph.node[:]
    replaced = set(dequantizers)
    # A Transpose is replaced where it stands; an initializer that MatMul reads comes first.
    transposed = {node.output[0] for node in model.graph.node} & replaced
    result.graph.node.extend(node for v, node in dequantizers.items() if v not in transposed)
    for node in model.graph.node:
        value = node.output[0] if node.output else ""
        result.graph.node.append(dequantizers[value] if value in transposed else node)
    return result


def _with_inner_tensors(model: ModelProto, weights: ModelWeights, stream: BinaryIO) -> ModelProto:
    """External tensors of attributes, subgraphs and functions lie in the one file too."""
    if not any(held.is_external and not held.is_top for held in all_tensors(model)):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    for held in all_tensors(copy):
        if held.is_external and not held.is_top:
            held.tensor.CopyFrom(_copy(held.tensor, weights, stream))
    return copy


def _copy(tensor: TensorProto, weights: ModelWeights, stream: BinaryIO) -> TensorProto:
    if tensor.data_location != TensorProto.EXTERNAL and tensor.ByteSize() <= INLINE_BYTES:
        return tensor
    return _external(
        tensor.name, tensor.data_type, tuple(tensor.dims), weights.bytes_of(tensor), stream
    )


def _external(
    name: str, onnx_type: int, shape: tuple[int, ...], data: NDArray[np.uint8], stream: BinaryIO
) -> TensorProto:
    stream.write(b"\0" * (-stream.tell() % ALIGNMENT))
    tensor = TensorProto(name=name, data_type=onnx_type, data_location=TensorProto.EXTERNAL)
    tensor.dims.extend(shape)
    for key, value in (
        ("location", DATA_FILE),
        ("offset", str(stream.tell())),
        ("length", str(data.nbytes)),
    ):
        tensor.external_data.add(key=key, value=value)
    stream.write(data.data)
    return tensor


def _quantize(
    weight: MatrixWeight, weights: ModelWeights, scheme: Scheme, stream: BinaryIO
) -> tuple[list[TensorProto], NodeProto, TensorReport]:
    tensor, name = weight.tensor, weight.tensor.name
    matrix = weights.floats(tensor)
    if weight.transposed:
        matrix = matrix.T
    scale_type = FLOAT_TYPES[tensor.data_type]
    quantized = quantize_matrix(matrix, scheme, scale_type)
    data: NDArray[Any] = pack_int4(quantized.integers) if scheme.bits == 4 else quantized.integers
    onnx_type = TensorProto.INT4 if scheme.bits == 4 else TensorProto.INT8
    integers = _external(f"{name}.quantized", onnx_type, matrix.shape, _as_bytes(data), stream)
    scales = _external(
        f"{name}.scales",
        tensor.data_type,
        quantized.scales.shape,
        _as_bytes(quantized.scales),
        stream,
    )
    node = helper.make_node(
        "DequantizeLinear",
        [integers.name, scales.name],
        [weight.value],
        name=f"{name}/DequantizeLinear",
    )
    attributes = {"axis": 0, "block_size": scheme.group_size} if scheme.group_size else {"axis": 1}
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    square = quantized.squared_error / quantized.squared_sum if quantized.squared_sum else 0.0
    report = TensorReport(
        name,
        matrix.size,
        matrix.size * scale_type.itemsize,
        data.nbytes + quantized.scales.nbytes,
        float(f"{math.sqrt(square):.4g}"),
        "",
    )
    return [integers, scales], node, report


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def pack_int4(integers: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Two's complement nibbles of the flattened array; an odd count ends with a zero nibble."""
    flat = integers.reshape(-1).view(np.uint8) & 0x0F
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return (flat[0::2] | (flat[1::2] << 4)).astype(np.uint8)
