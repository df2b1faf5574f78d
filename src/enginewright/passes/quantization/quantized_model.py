"""Rewrites a model: weight matrices become integers with a DequantizeLinear before their MatMul.

The integers lie as [inputs, outputs], so that groups run along axis 0: TensorRT for RTX takes both
orders, ONNX Runtime fuses only this one (into MatMulNBits). Two int4 share a byte, the first in its
low half (https://onnx.ai/onnx/technical/int4.html).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from enginewright.errors import Problem
from enginewright.onnx_model.weights import ModelWeights
from enginewright.passes.quantization.data_file import DataFile
from enginewright.passes.quantization.matrix_weights import MatrixWeight, find_matrix_weights
from enginewright.passes.quantization.rounding import quantize_matrix
from enginewright.passes.quantization.scheme import GROUP_SIZES, Scheme
from enginewright.passes.transformation import Pass, Transformed


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
class QuantizationReport:
    tensors: tuple[TensorReport, ...]
    """Weight matrices in the order of the graph, then those that were kept."""
    indivisible: tuple[int, ...]
    """Inputs of each weight that was kept because the group size does not divide them."""


@dataclass(frozen=True)
class QuantizeWeights(Pass[ir.Model, QuantizationReport]):
    """All tensors are written to `data_file`, beside which the model is to lie."""

    scheme: Scheme
    weights: ModelWeights
    """The files that the model's external data lie in."""
    data_file: Path
    progress: Callable[[str], None]

    def call(self, model: ir.Model) -> Transformed[ir.Model, QuantizationReport]:
        chosen, kept = find_matrix_weights(model.graph, self.scheme)
        with self.data_file.open("wb") as stream:
            data = DataFile(stream, self.weights)
            reports = self._quantize_all(model.graph, {one.name: one for one in chosen}, data)
            _copy_inner_tensors(model, data)
        for item in kept:
            tensor = item.weight.tensor
            report = TensorReport(
                item.weight.name, tensor.size, tensor.nbytes, tensor.nbytes, 0.0, item.reason
            )
            reports.append(report)
        indivisible = tuple(item.indivisible for item in kept if item.indivisible)
        return Transformed(model, QuantizationReport(tuple(reports), indivisible))

    def _quantize_all(
        self, graph: ir.Graph, chosen: dict[str, MatrixWeight], data: DataFile
    ) -> list[TensorReport]:
        """Change the graph; a quantized initializer's two tensors take its place among them."""
        reports: list[TensorReport] = []
        first = graph[0]
        initializers: list[ir.Value] = []
        for name, value in list(graph.initializers.items()):
            weight = chosen.get(name)
            if weight is None:
                if value.const_value is not None:
                    value.const_value = data.copy(value.const_value)
                initializers.append(value)
                continue
            self.progress(f"{name}, {len(reports) + 1} of {len(chosen)}")
            parts, node, report = _quantize(weight, self.scheme, data)
            initializers += parts
            _insert(graph, weight, node, first)
            reports.append(report)
        graph.initializers.clear()
        for value in initializers:
            graph.register_initializer(value)
        return reports

    def ensures(
        self, done: Transformed[ir.Model, QuantizationReport], where: str
    ) -> Iterator[Problem]:
        """Some weight is quantized."""
        report = done.report
        if not all(tensor.kept for tensor in report.tensors):
            return
        if report.indivisible:
            sizes = ", ".join(map(str, sorted(set(report.indivisible))))
            yield Problem(
                "the group size divides the inputs of no weight",
                "parameter `group_size`",
                f"a divisor of {sizes}{other_group_sizes(report.indivisible)}",
                str(self.scheme.group_size),
            )
            return
        reasons = "; ".join(f"{t.name}: {t.kept}" for t in report.tensors[:5])
        yield Problem(
            "the model has no weight that can be quantized",
            where,
            "a MatMul with a two-dimensional initializer",
            reasons or "none",
        )


def other_group_sizes(inputs: Sequence[int]) -> str:
    """Which group sizes divide all of `inputs`, as the end of a sentence."""
    fitting = [str(size) for size in GROUP_SIZES if not any(n % size for n in inputs)]
    return f" (these do: {', '.join(fitting)})" if fitting else " (none of the group sizes does)"


def _insert(graph: ir.Graph, weight: MatrixWeight, node: ir.Node, first: ir.Node) -> None:
    """A Transpose is replaced where it stands; for an initializer the new node comes first."""
    transpose = weight.transpose
    if transpose is not None:
        ir.convenience.replace_nodes_and_values(
            graph, transpose, [transpose], [node], [weight.value], node.outputs
        )
        return
    graph.insert_before(first, node)
    ir.convenience.replace_all_uses_with(weight.value, node.outputs[0])


def _copy_inner_tensors(model: ir.Model, data: DataFile) -> None:
    """External tensors of attributes, inner graphs and functions lie in the one file too."""
    for graph in model.graphs():
        for value in [] if graph is model.graph else graph.initializers.values():
            if isinstance(value.const_value, ir.ExternalTensor):
                value.const_value = data.copy(value.const_value)
    owners: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for owner in owners:
        for node in owner.all_nodes():
            for name, attribute in list(node.attributes.items()):
                if isinstance(attribute.value, ir.ExternalTensor):
                    node.attributes[name] = ir.AttrTensor(name, data.copy(attribute.value))
                elif attribute.type == ir.AttributeType.TENSORS:
                    moved = [
                        data.copy(one) if isinstance(one, ir.ExternalTensor) else one
                        for one in attribute.value
                    ]
                    node.attributes[name] = ir.AttrTensors(name, moved)


def _quantize(
    weight: MatrixWeight, scheme: Scheme, data: DataFile
) -> tuple[tuple[ir.Value, ir.Value], ir.Node, TensorReport]:
    """Values of the integers and of the scales, the node, and what it costs."""
    matrix = data.floats(weight.tensor)
    if weight.transpose is not None:
        matrix = matrix.T
    scale_type = weight.tensor.dtype.numpy()
    found = quantize_matrix(matrix, scheme, scale_type)
    packed: NDArray[Any] = pack_int4(found.integers) if scheme.bits == 4 else found.integers
    dtype = ir.DataType.INT4 if scheme.bits == 4 else ir.DataType.INT8
    name = weight.name
    integers = data.add(f"{name}.quantized", dtype, matrix.shape, _as_bytes(packed))
    scales = data.add(
        f"{name}.scales", weight.tensor.dtype, found.scales.shape, _as_bytes(found.scales)
    )
    parts = _initializer(integers), _initializer(scales)
    attributes = {"axis": 0, "block_size": scheme.group_size} if scheme.group_size else {"axis": 1}
    node = ir.node(
        "DequantizeLinear",
        parts,
        attributes,
        outputs=[ir.Value(name=weight.value.name)],
        name=f"{name}/DequantizeLinear",
    )
    square = found.squared_error / found.squared_sum if found.squared_sum else 0.0
    report = TensorReport(
        name,
        matrix.size,
        matrix.size * scale_type.itemsize,
        packed.nbytes + found.scales.nbytes,
        float(f"{math.sqrt(square):.4g}"),
        "",
    )
    return parts, node, report


def _initializer(tensor: ir.ExternalTensor) -> ir.Value:
    return ir.Value(
        name=tensor.name,
        shape=tensor.shape,
        type=ir.TensorType(tensor.dtype),
        const_value=tensor,
    )


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def pack_int4(integers: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Two's complement nibbles of the flattened array; an odd count ends with a zero nibble."""
    flat = integers.reshape(-1).view(np.uint8) & 0x0F
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return (flat[0::2] | (flat[1::2] << 4)).astype(np.uint8)
