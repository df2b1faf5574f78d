"""A model as `onnx_ir` has it, and back, with the same bytes where nothing was changed."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
from onnx import ModelProto


def load_graph(path: Path) -> ModelProto:
    """The graph alone: external data stay where they are, and are not opened."""
    return onnx.load(str(path), load_external_data=False)


def with_shapes(model: ModelProto) -> ir.Model:
    """As onnx_ir, with the shapes of inner values, which a writer may have left out."""
    return ir.from_proto(onnx.shape_inference.infer_shapes(model, data_prop=True))


def to_proto(model: ir.Model, original: ModelProto) -> ModelProto:
    """Without shapes of inner values that `original` did not state.

    onnx_ir writes the shape of every value that it knows, initializers included.
    """
    proto = ir.to_proto(model)
    made = {name for node in proto.graph.node for name in node.output}
    stated = [value for value in original.graph.value_info if value.name in made]
    del proto.graph.value_info[:]
    proto.graph.value_info.extend(stated)
    return proto
