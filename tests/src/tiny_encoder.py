"""A BERT of one layer as a hand-written graph; exporting one with torch takes ten seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper


class Graph:
    """The nodes, each named after its place."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def linear(self, x: str, layer: str) -> str:
        weight = self.op("Transpose", f"{layer}.weight", perm=[1, 0])
        return self.op("Add", self.op("MatMul", x, weight), f"{layer}.bias")

    def norm(self, x: str, layer: str) -> str:
        names = (f"{layer}.weight", f"{layer}.bias")
        return self.op("LayerNormalization", x, *names, epsilon=1e-12)

    def heads(self, x: str, perm: list[int]) -> str:
        return self.op("Transpose", self.op("Reshape", x, "split"), perm=perm)


def encoder_model(state: dict[str, torch.Tensor]) -> onnx.ModelProto:
    """BertModel with one layer of 2 heads of size 8, then the masked mean, with length 1."""
    g, layer = Graph(), "encoder.layer.0"
    size = g.op("Shape", "input_ids", start=1, end=2)
    places = g.op("Slice", "embeddings.position_embeddings.weight", "0", size, "0")
    kinds = g.op("Slice", "embeddings.token_type_embeddings.weight", "0", "1", "0")
    words = g.op("Gather", "embeddings.word_embeddings.weight", "input_ids")
    x = g.norm(g.op("Add", g.op("Add", words, places), kinds), "embeddings.LayerNorm")
    q, k, v = (
        g.heads(g.linear(x, f"{layer}.attention.self.{name}"), perm)
        for name, perm in (
            ("query", [0, 2, 1, 3]),
            ("key", [0, 2, 3, 1]),
            ("value", [0, 2, 1, 3]),
        )
    )
    mask = g.op("Cast", "attention_mask", to=onnx.TensorProto.FLOAT)
    hidden = g.op("Mul", g.op("Sub", "1.0", g.op("Unsqueeze", mask, "[1,2]")), "-1e4")
    scores = g.op("Add", g.op("Div", g.op("MatMul", q, k), "sqrt(8)"), hidden)
    context = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    context = g.op("Reshape", g.op("Transpose", context, perm=[0, 2, 1, 3]), "join")
    attended = g.op("Add", g.linear(context, f"{layer}.attention.output.dense"), x)
    x = g.norm(attended, f"{layer}.attention.output.LayerNorm")
    inner = g.op("Gelu", g.linear(x, f"{layer}.intermediate.dense"))
    x = g.norm(
        g.op("Add", g.linear(inner, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm"
    )
    weights = g.op("Unsqueeze", mask, "2")
    total = g.op("ReduceSum", g.op("Mul", x, weights), "1", keepdims=0)
    mean = g.op("Div", total, g.op("ReduceSum", weights, "1", keepdims=0))
    g.op("LpNormalization", mean, axis=-1, p=2)
    g.nodes[-1].output[0] = "embeddings"
    constants: dict[str, Any] = {
        "0": np.array([0]), "1": np.array([1]), "2": np.array([2]), "[1,2]": np.array([1, 2]),
        "split": np.array([0, 0, 2, 8]), "join": np.array([0, 0, 16]), "1.0": np.float32(1),
        "-1e4": np.float32(-1e4), "sqrt(8)": np.float32(8**0.5),
    }  # fmt: skip
    constants.update({name: tensor.numpy() for name, tensor in state.items()})
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        g.nodes,
        "encoder",
        [
            value(name, onnx.TensorProto.INT64, ["batch", "sequence"])
            for name in ("input_ids", "attention_mask")
        ],
        [value("embeddings", onnx.TensorProto.FLOAT, ["batch", 16])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    opset = onnx.helper.make_opsetid("", 23)
    return onnx.helper.make_model(graph, ir_version=10, opset_imports=[opset])
