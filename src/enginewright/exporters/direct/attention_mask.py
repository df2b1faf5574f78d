"""Which keys each query may see, as the boolean mask that `Attention` takes."""

from __future__ import annotations

from onnx import TensorProto

from enginewright.exporters.direct.graph_writer import GraphWriter


class AttentionMasks:
    """Masks [batch, 1, sequence, total_sequence], one for each width of the sliding window.

    Query i stands at index past + i of all keys, whatever its position id, so that padding may lie
    anywhere. A query always sees itself: padding rows would see nothing otherwise, and the softmax
    of nothing is NaN in some runtimes, which the next layer spreads to every row.

    Without a cache there is no padding to mask: the masks are [1, 1, sequence, sequence].
    """

    def __init__(self, graph: GraphWriter, *, with_past: bool) -> None:
        self._graph = graph
        self._with_past = with_past
        self._masks: dict[int | None, str] = {}
        self._real = ""
        # [total] and [sequence, 1]
        self._keys, self._queries = self._indices()

    def mask(self, window: int | None) -> str:
        """The mask for layers that see `window` keys, the query's own included; None is all."""
        if window not in self._masks:
            self._masks[window] = self._write(window)
        return self._masks[window]

    def _indices(self) -> tuple[str, str]:
        graph = self._graph
        zero, one = graph.integer(0), graph.integer(1)
        total = graph.mask_length() if self._with_past else graph.sequence_length()
        keys = graph.add("Range", [zero, total, one], "mask.key_index")
        queries = keys
        if self._with_past:
            past = graph.add("Sub", [total, graph.sequence_length()], "mask.past_length")
            queries = graph.add("Range", [past, total, one], "mask.query_index")
        column = graph.add("Unsqueeze", [queries, graph.integers(1)], "mask.query_column")
        return keys, column

    def _write(self, window: int | None) -> str:
        graph, name = self._graph, "mask" if window is None else f"mask.window_{window}"
        seen = graph.add("LessOrEqual", [self._keys, self._queries], f"{name}.causal")
        if window is not None:
            first = graph.add("Sub", [self._queries, graph.integer(window)], f"{name}.before")
            inside = graph.add("Greater", [self._keys, first], f"{name}.inside")
            seen = graph.add("And", [seen, inside], f"{name}.causal_inside")
        if not self._with_past:
            return graph.add("Unsqueeze", [seen, graph.integers(0, 1)], name)
        visible = graph.add("And", [self._real_tokens(), seen], f"{name}.visible")
        own = graph.add("Equal", [self._keys, self._queries], f"{name}.own")
        return graph.add("Or", [visible, own], name)

    def _real_tokens(self) -> str:
        """`attention_mask` as booleans, [batch, 1, 1, total_sequence]."""
        if not self._real:
            graph = self._graph
            flags = graph.add("Cast", ["attention_mask"], "mask.real", to=TensorProto.BOOL)
            self._real = graph.add("Unsqueeze", [flags, graph.integers(1, 2)], "mask.real_keys")
        return self._real
