"""Finds the weight matrices of a model: initializers that MatMul takes as its second input."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

import onnx_ir as ir

from enginewright.passes.pattern import attribute, is_op, producer
from enginewright.passes.quantization.scheme import Scheme

FLOAT_TYPES = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)


@dataclass(frozen=True)
class MatrixWeight:
    initializer: ir.Value
    tensor: ir.TensorProtocol
    """What the initializer holds, in two dimensions."""
    value: ir.Value
    """What MatMul reads: the initializer itself, or the output of its Transpose."""

    @property
    def name(self) -> str:
        return str(self.initializer.name)

    @property
    def transpose(self) -> ir.Node | None:
        """It is stored as [outputs, inputs], where there is one."""
        return None if self.value is self.initializer else self.value.producer()

    @property
    def inputs(self) -> int:
        return int(self.tensor.shape.numpy()[1 if self.transpose else 0])


@dataclass(frozen=True)
class KeptWeight:
    weight: MatrixWeight
    reason: str
    indivisible: int = 0
    """How many inputs it has, where the group size not dividing them is the reason."""


def find_matrix_weights(
    graph: ir.Graph, scheme: Scheme
) -> tuple[tuple[MatrixWeight, ...], tuple[KeptWeight, ...]]:
    """Those to quantize, in the order of their nodes, and the matrices that stay, with reasons."""
    chosen: dict[str, MatrixWeight] = {}
    kept: dict[str, KeptWeight] = {}
    for node in graph:
        weight = _matrix_weight(node)
        if weight is None:
            continue
        reason = _reason_to_keep(weight, scheme, is_head=_is_head(node.outputs[0]))
        if reason:
            kept[weight.name] = KeptWeight(weight, reason)
        elif scheme.group_size and weight.inputs % scheme.group_size:
            reason = f"{weight.inputs} inputs are no multiple of the group size"
            kept[weight.name] = KeptWeight(weight, reason, weight.inputs)
        else:
            chosen[weight.name] = weight
    final = tuple(weight for name, weight in chosen.items() if name not in kept)
    return final, tuple(kept.values())


def _matrix_weight(node: ir.Node) -> MatrixWeight | None:
    value = node.inputs[1] if is_op(node, "MatMul") else None
    if value is None:
        return None
    transpose = producer(value, "Transpose")
    initializer = value
    if transpose is not None and [*attribute(transpose, "perm", ())] == [1, 0]:
        assert transpose.inputs[0] is not None
        initializer = transpose.inputs[0]
    tensor = initializer.const_value
    if not initializer.is_initializer() or tensor is None:
        return None
    if len(tensor.shape) != 2 or tensor.dtype not in FLOAT_TYPES:
        return None
    return MatrixWeight(initializer, tensor, value)


def _is_head(value: ir.Value) -> bool:
    """An output of the model, directly or through a Cast."""
    return value.is_graph_output() or any(
        use.node.outputs[0].is_graph_output()
        for use in value.uses()
        if is_op(use.node, "Cast", "Identity")
    )


def _reason_to_keep(weight: MatrixWeight, scheme: Scheme, *, is_head: bool) -> str:
    name = weight.name
    pattern = next((item for item in scheme.keep if fnmatch.fnmatchcase(name, item)), None)
    if pattern is not None:
        return f"matches `{pattern}`"
    if is_head:
        return "output head"
    readers = {use.node.op_type for use in weight.value.uses()}
    if weight.transpose is not None:
        readers |= {use.node.op_type for use in weight.initializer.uses()} - {"Transpose"}
    if readers != {"MatMul"}:
        return f"also read by {', '.join(sorted(readers - {'MatMul'}))}"
    return ""
