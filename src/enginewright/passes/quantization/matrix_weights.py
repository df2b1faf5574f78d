"""Finds the weight matrices of a model: initializers that MatMul takes as its second input."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass

from onnx import GraphProto, NodeProto, TensorProto

from enginewright.onnx_model.weights import FLOAT_TYPES
from enginewright.passes.quantization.scheme import Scheme


@dataclass(frozen=True)
class MatrixWeight:
    tensor: TensorProto
    value: str
    """What MatMul reads: the initializer itself, or the output of its Transpose."""
    transposed: bool
    """Stored as [outputs, inputs]."""

    @property
    def inputs(self) -> int:
        return int(self.tensor.dims[1 if self.transposed else 0])


@dataclass(frozen=True)
class KeptWeight:
    tensor: TensorProto
    reason: str
    indivisible: int = 0
    """How many inputs it has, where the group size not dividing them is the reason."""


def find_matrix_weights(
    graph: GraphProto, scheme: Scheme
) -> tuple[tuple[MatrixWeight, ...], tuple[KeptWeight, ...]]:
    """Those to quantize, in the order of their nodes, and the matrices that stay, with reasons."""
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    transposes = {
        node.output[0]: node.input[0]
        for node in graph.node
        if node.op_type == "Transpose" and _permutation(node) == [1, 0]
    }
    heads = _output_heads(graph)
    uses = _uses(graph)
    chosen: dict[str, MatrixWeight] = {}
    kept: dict[str, KeptWeight] = {}
    for node in graph.node:
        if node.op_type != "MatMul":
            continue
        value = node.input[1]
        tensor = initializers.get(transposes.get(value, value))
        if tensor is None or len(tensor.dims) != 2 or tensor.data_type not in FLOAT_TYPES:
            continue
        weight = MatrixWeight(tensor, value, value in transposes)
        reason = _reason_to_keep(weight, scheme, uses, is_head=node.output[0] in heads)
        if reason:
            kept[tensor.name] = KeptWeight(tensor, reason)
        elif scheme.group_size and weight.inputs % scheme.group_size:
            reason = f"{weight.inputs} inputs are no multiple of the group size"
            kept[tensor.name] = KeptWeight(tensor, reason, weight.inputs)
        else:
            chosen[tensor.name] = weight
    final = tuple(weight for name, weight in chosen.items() if name not in kept)
    return final, tuple(kept.values())


def _permutation(node: NodeProto) -> list[int]:
    return next((list(entry.ints) for entry in node.attribute if entry.name == "perm"), [])


def _uses(graph: GraphProto) -> Mapping[str, list[str]]:
    """Name of a value -> operators that read it."""
    uses: dict[str, list[str]] = {}
    for node in graph.node:
        for value in node.input:
            uses.setdefault(value, []).append(node.op_type)
    return uses


def _output_heads(graph: GraphProto) -> set[str]:
    """Values that are an output of the model, directly or through a Cast."""
    outputs = {value.name for value in graph.output}
    return outputs | {
        node.input[0]
        for node in graph.node
        if node.op_type in ("Cast", "Identity") and node.output[0] in outputs
    }


def _reason_to_keep(
    weight: MatrixWeight, scheme: Scheme, uses: Mapping[str, list[str]], *, is_head: bool
) -> str:
    name = weight.tensor.name
    pattern = next((item for item in scheme.keep if fnmatch.fnmatchcase(name, item)), None)
    if pattern is not None:
        return f"matches `{pattern}`"
    if is_head:
        return "output head"
    readers = set(uses[weight.value])
    if weight.transposed:
        readers |= set(uses[name]) - {"Transpose"}
    if readers != {"MatMul"}:
        return f"also read by {', '.join(sorted(readers - {'MatMul'}))}"
    return ""
