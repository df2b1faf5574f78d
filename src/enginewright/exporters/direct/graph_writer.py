"""Collects nodes and initializers of one ONNX graph, in the order in which they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from enginewright.exporters.direct.weight_layout import ExternalTensor


class GraphWriter:
    """Values are called by name; a name is given once, so that the graph reads like its model."""

    def __init__(self, weights: Mapping[str, ExternalTensor]) -> None:
        self._weights = weights
        self._nodes: list[NodeProto] = []
        self._initializers: dict[str, TensorProto] = {}
        self._transposed: dict[str, str] = {}
        self._axes: set[str] = set()

    def add(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """Append a node with one output, and return the output's name."""
        node = helper.make_node(operator, inputs, [output], name=f"{output}/{operator}")
        node.attribute.extend(
            helper.make_attribute(key, value) for key, value in sorted(attributes.items())
        )
        self._nodes.append(node)
        return output

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """A small initializer inside the graph; the same name must mean the same value."""
        if name not in self._initializers:
            self._initializers[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def integers(self, *values: int) -> str:
        """A constant int64 vector, shared by all who ask for the same numbers."""
        name = "int64/" + ",".join(map(str, values))
        return self.constant(name, np.array(values, dtype=np.int64))

    def integer(self, value: int) -> str:
        """A constant int64 scalar."""
        return self.constant(f"int64/scalar/{value}", np.array(value, dtype=np.int64))

    def weight(self, name: str) -> str:
        """The tensor of the checkpoint, as external data where it lies; nothing is read."""
        if name not in self._initializers:
            self._initializers[name] = self._weights[name].to_proto()
        return name

    def transposed_weight(self, name: str) -> str:
        """`[out, in]` as PyTorch stores it, as the `[in, out]` that MatMul takes.

        A Transpose of an initializer costs nothing at run time: builders fold it.
        """
        if name not in self._transposed:
            output = name.removesuffix(".weight") + ".transposed"
            self._transposed[name] = self.add("Transpose", [self.weight(name)], output, perm=[1, 0])
        return self._transposed[name]

    def linear(self, value: str, module: str, *, bias: bool) -> str:
        """`value @ weight.T (+ bias)`: `[..., in]` to `[..., out]`."""
        weight = self.transposed_weight(f"{module}.weight")
        if not bias:
            return self.add("MatMul", [value, weight], module)
        product = self.add("MatMul", [value, weight], f"{module}.product")
        return self.add("Add", [product, self.weight(f"{module}.bias")], module)

    def sequence_length(self) -> str:
        """Extent of the axis `sequence`, an int64 scalar."""
        return self._axis("input_ids", 1)

    def mask_length(self) -> str:
        """Extent of the attention mask's second axis: all tokens, earlier ones included."""
        return self._axis("attention_mask", 1)

    def _axis(self, value: str, axis: int) -> str:
        output = f"shape/{value}.{axis}"
        if output not in self._axes:
            self._axes.add(output)
            extent = self.add("Shape", [value], f"{output}.vector", start=axis, end=axis + 1)
            self.add("Squeeze", [extent, self.integers(0)], output)
        return output

    def to_graph(
        self, name: str, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]
    ) -> GraphProto:
        return helper.make_graph(
            self._nodes, name, inputs, outputs, list(self._initializers.values())
        )
