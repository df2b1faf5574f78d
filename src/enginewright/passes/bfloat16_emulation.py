"""Run a bfloat16 graph where the runtime has no bfloat16 kernels.

ONNX Runtime 1.32 on the CPU has Cast, Gather, Concat, Split and Transpose for bfloat16, and no
arithmetic (tried op by op). float16 needs none of this: every operator tried runs. Here the graph
becomes a float32 graph, where each result that was bfloat16 is rounded to bfloat16 and back. Such
numbers are those of kernels that add up in float32 and store bfloat16, as GPUs do it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from enginewright.errors import InputError, Problem
from enginewright.onnx_model.tensors import all_nodes, all_tensors, graphs
from enginewright.onnx_model.weights import ModelWeights, place_of
from enginewright.passes.transformation import Pass, Transformed, apply

_BFLOAT16, _FLOAT = onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT
_ROUNDED = "/before_rounding"


def uses_bfloat16(path: Path) -> bool:
    """Whether any input, output, weight, constant or cast of the graph is bfloat16."""
    model = onnx.load_model(str(path), load_external_data=False)
    if any(held.tensor.data_type == _BFLOAT16 for held in all_tensors(model)):
        return True
    values = [value for graph in graphs(model.graph) for value in (*graph.input, *graph.output)]
    if any(value.type.tensor_type.elem_type == _BFLOAT16 for value in values):
        return True
    return any(
        _makes_bfloat16(attribute) for node in all_nodes(model) for attribute in node.attribute
    )


def _makes_bfloat16(attribute: onnx.AttributeProto) -> bool:
    return attribute.name in ("to", "dtype") and bool(attribute.i == _BFLOAT16)


def write_without_bfloat16(path: Path, folder: Path) -> Path:
    """Write the model at `path` into `folder` as float32 with roundings; return the new file.

    Raises `InputError` for functions and subgraphs, which it does not follow.
    """
    model = onnx.load_model(str(path), load_external_data=False)
    _load_weights(model, path.parent)
    emulated = apply(EmulateBfloat16(), model, path.name)
    # Weights outside: float32 ones of a model that was under 2 GiB may be over it.
    target = folder / "model.onnx"
    onnx.save_model(emulated.model, str(target), save_as_external_data=True, location="model.data")
    return target


def _load_weights(model: onnx.ModelProto, folder: Path) -> None:
    """Not with the onnx library, which refuses a file that has several hard links.

    In the sandbox of a step each large file has: it is a link into Pants' store.
    """
    weights = ModelWeights({file.name: file for file in folder.iterdir()})
    for held in all_tensors(model):
        if held.is_external:
            held.tensor.raw_data = weights.read(place_of(held.tensor)).tobytes()
            held.tensor.data_location = onnx.TensorProto.DEFAULT
            del held.tensor.external_data[:]


class EmulateBfloat16(Pass[onnx.ModelProto, None]):
    """float32 with roundings; external data must have been loaded.

    Over protobuf: the environment that validates has no onnx_ir.
    """

    def requires(self, model: onnx.ModelProto, where: str) -> Iterator[Problem]:
        """No functions and no subgraphs, which it does not follow."""
        nested = [n.op_type for n in model.graph.node if any(a.HasField("g") for a in n.attribute)]
        if model.functions or nested:
            what = "bfloat16 cannot be emulated inside functions and subgraphs"
            yield Problem(what, where, actual=", ".join(nested) or "functions")

    def call(self, model: onnx.ModelProto) -> Transformed[onnx.ModelProto, None]:
        _emulate(model)
        return Transformed(model, None)


def _emulate(model: onnx.ModelProto) -> None:
    graph = model.graph
    narrow = _bfloat16_names(model)
    for held in all_tensors(model):
        _widen(held.tensor)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type == _BFLOAT16:
            value.type.tensor_type.elem_type = _FLOAT
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        for attribute in node.attribute:
            _widen_attribute(attribute)
        rounded = [name for name in node.output if name in narrow]
        for index, name in enumerate(node.output):
            if name in narrow:
                node.output[index] = name + _ROUNDED
        graph.node.append(node)
        for name in rounded:
            half = name + "/bfloat16"
            graph.node.append(helper.make_node("Cast", [name + _ROUNDED], [half], to=_BFLOAT16))
            graph.node.append(helper.make_node("Cast", [half], [name], to=_FLOAT))


def _bfloat16_names(model: onnx.ModelProto) -> set[str]:
    """Values that nodes compute in bfloat16; the types come from the checker's type inference."""
    shell = onnx.ModelProto()
    shell.CopyFrom(model)
    inferred = onnx.shape_inference.infer_shapes(shell, strict_mode=True).graph
    types = {
        value.name: value.type.tensor_type.elem_type
        for value in [*inferred.value_info, *inferred.output]
    }
    unknown = [name for n in model.graph.node for name in n.output if name and name not in types]
    if unknown:
        raise InputError(
            Problem("types of values are not known", "ONNX model", actual=", ".join(unknown[:10]))
        )
    return {name for name, element_type in types.items() if element_type == _BFLOAT16}


def _widen(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == _BFLOAT16:
        wide = np.asarray(numpy_helper.to_array(tensor)).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))


def _widen_attribute(attribute: onnx.AttributeProto) -> None:
    if attribute.name in ("to", "dtype") and attribute.i == _BFLOAT16:
        attribute.i = _FLOAT
