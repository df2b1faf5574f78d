"""The ONNX graph of a dense decoder: embeddings, layers, output head.

Names of values are those of the modules in the checkpoint, so that a value of the graph is found
again in the model's own code. Operators of opset 23 (https://onnx.ai/onnx/operators/) carry the
normalization, the rotation and the attention.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from enginewright.exporters.direct.attention_mask import AttentionMasks
from enginewright.exporters.direct.decoder_architecture import ChosenWeights, DecoderArchitecture
from enginewright.exporters.direct.graph_writer import GraphWriter
from enginewright.onnx_model.element_type import ElementType

IR_VERSION = 11
"""The version that came with opset 23 (onnx 1.18)."""
SLICE_END = 2**31 - 1
"""An end beyond every axis; larger ones are clamped with a warning by some parsers."""


@dataclass(frozen=True)
class GraphOptions:
    opset: int
    element_type: ElementType
    """Of weights, activations, the KV cache and the logits."""
    with_past: bool
    """Keys and values of earlier tokens are inputs, those of all tokens are outputs."""
    last_logits_only: bool
    """Logits of the last position only, `[batch, 1, vocabulary]`."""
    attention_operator: bool
    """Whether attention is the operator `Attention` or written out in simpler ones."""


def decoder_model(
    architecture: DecoderArchitecture,
    weights: ChosenWeights,
    options: GraphOptions,
) -> ModelProto:
    """The whole model; `weights` are those that `choose_weights` took.

    Input `input_ids` int64 [batch, sequence]. With a cache also `attention_mask` int64 [batch,
    total_sequence], 1 for a token and 0 for padding; `position_ids` int64 [batch, sequence]; and
    for each layer N `past_key_values.N.key` and `.value` [batch, kv_heads, past_sequence,
    head_dim], where past_sequence may be 0 and total_sequence is past_sequence + sequence.
    Without a cache, padding belongs to the right, where no token sees it.
    Outputs: `logits`, and with a cache `present.N.key` and `.value`.
    """
    writer = _DecoderWriter(architecture, weights, options)
    writer.write()
    graph = writer.graph.to_graph(architecture.family, writer.inputs, writer.outputs)
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", options.opset)],
        ir_version=IR_VERSION,
        producer_name="enginewright",
    )


class _DecoderWriter:
    def __init__(
        self,
        architecture: DecoderArchitecture,
        weights: ChosenWeights,
        options: GraphOptions,
    ) -> None:
        self.architecture = architecture
        self.options = options
        self.weights = weights
        self.graph = GraphWriter(weights.tensors)
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []

    def write(self) -> None:
        architecture, graph = self.architecture, self.graph
        self._input("input_ids", TensorProto.INT64, ("batch", "sequence"))
        if self.options.with_past:
            self._input("attention_mask", TensorProto.INT64, ("batch", "total_sequence"))
            self._input("position_ids", TensorProto.INT64, ("batch", "sequence"))
        cosine, sine = self._rotary_tables()
        masks = AttentionMasks(graph, with_past=self.options.with_past)
        table = graph.weight(self.weights.embedding)
        hidden = graph.add("Gather", [table, "input_ids"], architecture.names.embedding)
        for index, window in enumerate(architecture.sliding_windows):
            hidden = self._layer(index, hidden, masks.mask(window), cosine, sine)
        self._head(hidden)

    def _input(self, name: str, onnx_type: int, shape: Sequence[str | int]) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, onnx_type, shape))
        return name

    def _output(self, name: str, shape: Sequence[str | int]) -> None:
        self.outputs.append(
            helper.make_tensor_value_info(name, self.options.element_type.onnx, shape)
        )

    def _rotary_tables(self) -> tuple[str, str]:
        """Cosine and sine of each token's angles in float32, [batch, sequence, head_dim / 2]."""
        graph, rotary = self.graph, self.architecture.rotary
        positions = "position_ids"
        if not self.options.with_past:
            length = graph.sequence_length()
            steps = graph.add(
                "Range", [graph.integer(0), length, graph.integer(1)], "rotary.positions"
            )
            positions = self._repeat_for_batch(steps)
        column = graph.add("Unsqueeze", [positions, graph.integers(2)], "rotary.position_column")
        column = graph.add("Cast", [column], "rotary.position_float", to=TensorProto.FLOAT)
        frequencies = graph.constant("rotary.inverse_frequencies", rotary.inverse_frequencies)
        angles = graph.add("Mul", [column, frequencies], "rotary.angles")
        tables = []
        for operator, name in (("Cos", "rotary.cosine"), ("Sin", "rotary.sine")):
            table = graph.add(operator, [angles], name)
            if rotary.attention_scaling != 1.0:
                factor = graph.constant(
                    "rotary.scaling", np.array(rotary.attention_scaling, np.float32)
                )
                table = graph.add("Mul", [table, factor], f"{name}.scaled")
            tables.append(table)
        return tables[0], tables[1]

    def _repeat_for_batch(self, steps: str) -> str:
        """[sequence] to [batch, sequence]: the operator wants a table for each batch entry."""
        shape = self.graph.add("Shape", ["input_ids"], "shape/input_ids")
        return self.graph.add("Expand", [steps, shape], "rotary.position_ids")

    def _layer(self, index: int, hidden: str, mask: str, cosine: str, sine: str) -> str:
        graph, names = self.graph, self.architecture.names
        name = names.layer.format(layer=index)
        normed = self._norm(hidden, f"{name}.{names.input_norm}")
        attended = self._attention(index, normed, mask, cosine, sine)
        hidden = graph.add("Add", [hidden, attended], f"{name}.attention_residual")
        normed = self._norm(hidden, f"{name}.{names.middle_norm}")
        return graph.add("Add", [hidden, self._feed_forward(name, normed)], f"{name}.mlp_residual")

    def _norm(self, value: str, module: str) -> str:
        """RMSNorm over the last axis, its statistics in float32 whatever the model's type."""
        return self.graph.add(
            "RMSNormalization",
            [value, self.graph.weight(f"{module}.weight")],
            module,
            axis=-1,
            epsilon=self.architecture.rms_norm_eps,
            stash_type=TensorProto.FLOAT,
        )

    def _attention(self, index: int, hidden: str, mask: str, cosine: str, sine: str) -> str:
        """Grouped-query attention: [batch, sequence, hidden] to the same."""
        architecture, graph = self.architecture, self.graph
        names = architecture.names
        layer = names.layer.format(layer=index)
        name = f"{layer}.self_attn"
        query = self._heads(layer, hidden, names.query, architecture.heads, names.query_norm)
        key = self._heads(layer, hidden, names.key, architecture.kv_heads, names.key_norm)
        value = self._heads(layer, hidden, names.value, architecture.kv_heads, None)
        query = self._rotate(query, f"{name}.query", cosine, sine)
        key = self._rotate(key, f"{name}.key", cosine, sine)
        if self.options.with_past:
            key = self._append_to_cache(index, "key", key)
            value = self._append_to_cache(index, "value", value)
        if self.options.attention_operator:
            joined = self._attend(name, query, key, value, mask)
        else:
            joined = self._attend_written_out(name, query, key, value, mask)
        return graph.linear(joined, f"{layer}.{names.output}", bias=architecture.output_bias)

    def _attend(self, name: str, query: str, key: str, value: str, mask: str) -> str:
        """[batch, heads, sequence, head_dim] to [batch, sequence, heads * head_dim]."""
        architecture, graph = self.architecture, self.graph
        attended = graph.add(
            "Attention",
            [query, key, value, mask],
            f"{name}.heads",
            scale=1 / math.sqrt(architecture.head_dim),
        )
        rows = graph.add("Transpose", [attended], f"{name}.rows", perm=[0, 2, 1, 3])
        width = architecture.heads * architecture.head_dim
        return graph.add("Reshape", [rows, graph.integers(0, 0, width)], f"{name}.joined")

    def _attend_written_out(self, name: str, query: str, key: str, value: str, mask: str) -> str:
        """The same as `_attend` in float32, the heads of one key/value head side by side."""
        architecture, graph = self.architecture, self.graph
        kv_heads, head_dim = architecture.kv_heads, architecture.head_dim
        group = architecture.heads // kv_heads
        scale = graph.constant("attention.scale", np.array(1 / math.sqrt(head_dim), np.float32))
        scaled = graph.add("Mul", [query, scale], f"{name}.scaled_query")
        # [batch, kv_heads, group, sequence, head_dim] against [batch, kv_heads, 1, total, head_dim]
        grouped = graph.integers(0, kv_heads, group, -1, head_dim)
        queries = graph.add("Reshape", [scaled, grouped], f"{name}.query_groups")
        keys = graph.add("Transpose", [key], f"{name}.key_columns", perm=[0, 1, 3, 2])
        keys = graph.add("Unsqueeze", [keys, graph.integers(2)], f"{name}.key_group")
        scores = graph.add("MatMul", [queries, keys], f"{name}.scores")
        mask = graph.add("Unsqueeze", [mask, graph.integers(1)], f"{name}.mask")
        hidden = graph.constant("attention.hidden", np.array(np.finfo(np.float32).min))
        visible = graph.add("Where", [mask, scores, hidden], f"{name}.visible_scores")
        shares = graph.add("Softmax", [visible], f"{name}.shares", axis=-1)
        values = graph.add("Unsqueeze", [value, graph.integers(2)], f"{name}.value_group")
        attended = graph.add("MatMul", [shares, values], f"{name}.heads")
        rows = graph.add("Transpose", [attended], f"{name}.rows", perm=[0, 3, 1, 2, 4])
        width = architecture.heads * head_dim
        return graph.add("Reshape", [rows, graph.integers(0, 0, width)], f"{name}.joined")

    def _heads(self, layer: str, hidden: str, projection: str, heads: int, norm: str | None) -> str:
        """Project and split: [batch, sequence, hidden] to [batch, heads, sequence, head_dim]."""
        architecture, graph = self.architecture, self.graph
        projection = f"{layer}.{projection}"
        flat = graph.linear(hidden, projection, bias=architecture.qkv_bias)
        shape = graph.integers(0, 0, heads, architecture.head_dim)
        split = graph.add("Reshape", [flat, shape], f"{projection}.split")
        if norm is not None and architecture.qk_norm:
            split = self._norm(split, f"{layer}.{norm}")
        return graph.add("Transpose", [split], f"{projection}.heads", perm=[0, 2, 1, 3])

    def _rotate(self, value: str, name: str, cosine: str, sine: str) -> str:
        """Rotate in float32: half-precision angles would blur far positions."""
        graph, element_type = self.graph, self.options.element_type
        if element_type.onnx == TensorProto.FLOAT:
            return graph.add("RotaryEmbedding", [value, cosine, sine], f"{name}.rotated")
        wide = graph.add("Cast", [value], f"{name}.float32", to=TensorProto.FLOAT)
        rotated = graph.add("RotaryEmbedding", [wide, cosine, sine], f"{name}.rotated_float32")
        return graph.add("Cast", [rotated], f"{name}.rotated", to=element_type.onnx)

    def _append_to_cache(self, index: int, kind: str, new: str) -> str:
        """`Attention` concatenates too, but TensorRT for RTX takes it with one output only."""
        architecture = self.architecture
        past, present = f"past_key_values.{index}.{kind}", f"present.{index}.{kind}"
        shape = ("batch", architecture.kv_heads, "past_sequence", architecture.head_dim)
        self._input(past, self.options.element_type.onnx, shape)
        self.graph.add("Concat", [past, new], present, axis=2)
        self._output(present, (*shape[:2], "total_sequence", shape[3]))
        return present

    def _feed_forward(self, layer: str, hidden: str) -> str:
        """down(silu(gate(x)) * up(x))."""
        graph, bias, names = self.graph, self.architecture.mlp_bias, self.architecture.names
        name = f"{layer}.mlp"
        gate = graph.linear(hidden, f"{layer}.{names.gate}", bias=bias)
        gated = graph.add(
            "Mul", [gate, graph.add("Sigmoid", [gate], f"{name}.sigmoid")], f"{name}.silu"
        )
        up = graph.linear(hidden, f"{layer}.{names.up}", bias=bias)
        product = graph.add("Mul", [gated, up], f"{name}.gated")
        return graph.linear(product, f"{layer}.{names.down}", bias=bias)

    def _head(self, hidden: str) -> None:
        architecture, graph = self.architecture, self.graph
        positions: str | int = "sequence"
        if self.options.last_logits_only:
            ends = [graph.integers(-1), graph.integers(SLICE_END), graph.integers(1)]
            hidden = graph.add("Slice", [hidden, *ends], "model.last_position")
            positions = 1
        normed = self._norm(hidden, architecture.names.norm)
        graph.add("MatMul", [normed, graph.transposed_weight(self.weights.head)], "logits")
        outputs, self.outputs = self.outputs, []
        self._output("logits", ("batch", positions, architecture.vocabulary))
        self.outputs.extend(outputs)
