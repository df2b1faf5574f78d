"""A dense decoder as a torch module whose KV cache is an input that it writes in place.

Parameters have the names of the tensors in the checkpoint, so a package maps constants to weights
by name. A cache has the layout [positions, batch, kv_heads, head_dim]: its first rows are one
contiguous block, so that a caller can pass as much of it as has been written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from enginewright.exporters.direct.decoder_architecture import DecoderArchitecture

FREQUENCIES = "rotary.inverse_frequencies"
"""Name of the one constant that is not in the checkpoint: float32 [head_dim / 2]."""


@dataclass(frozen=True)
class DecoderInputs:
    """Inputs of the compiled module, in its order; all on one device."""

    input_ids: Tensor
    """int64 [batch, sequence]."""
    positions: Tensor
    """int64 [sequence, batch]: where each token lies in the cache, ascending."""
    keep: Tensor
    """int64 [kept]: places of the sequence that logits are wanted of."""
    caches: tuple[Tensor, ...]
    """Key, value, key, value, ... of the layers, each [reach, batch, kv_heads, head_dim]."""


def tensor_shapes(architecture: DecoderArchitecture) -> Mapping[str, tuple[int, ...]]:
    """Of all weights, the output head's too: whether it is the embedding, the weights say."""
    vocabulary = (architecture.vocabulary, architecture.hidden)
    names = architecture.names
    own = {f"{name}.weight": vocabulary for name in (names.embedding, names.head)}
    return {**architecture.tensor_shapes, **own}


class Decoder(nn.Module):
    """Logits [batch, kept, vocabulary]; keys and values of the sequence go into the caches."""

    def __init__(self, architecture: DecoderArchitecture, dtype: torch.dtype) -> None:
        super().__init__()
        self.architecture = architecture
        for name, shape in tensor_shapes(architecture).items():
            _hang(self, name, nn.Parameter(torch.empty(shape, dtype=dtype), requires_grad=False))
        frequencies = torch.empty(architecture.head_dim // 2, dtype=torch.float32)
        _hang(self, FREQUENCIES, nn.Parameter(frequencies, requires_grad=False))

    def forward(
        self, input_ids: Tensor, positions: Tensor, keep: Tensor, caches: list[Tensor]
    ) -> Tensor:
        weights = dict(self.named_parameters())
        names = self.architecture.names
        hidden = functional.embedding(input_ids, weights[f"{names.embedding}.weight"])
        tables = self._rotary_tables(weights[FREQUENCIES], positions, hidden.dtype)
        row = torch.arange(input_ids.shape[0], device=input_ids.device)
        reach = torch.arange(caches[0].shape[0], device=input_ids.device)
        seen = positions.transpose(0, 1)[:, None, :, None]
        masks = {
            window: self._mask(reach, seen, window)
            for window in dict.fromkeys(self.architecture.sliding_windows)
        }
        place = (positions, row)
        for layer, window in enumerate(self.architecture.sliding_windows):
            part = names.layer.format(layer=layer)
            cache = (caches[2 * layer], caches[2 * layer + 1])
            normed = self._norm(hidden, weights[f"{part}.{names.input_norm}.weight"])
            hidden = hidden + self._attend(
                weights, part, normed, tables, cache, place, masks[window]
            )
            normed = self._norm(hidden, weights[f"{part}.{names.middle_norm}.weight"])
            hidden = hidden + self._feed_forward(weights, part, normed)
        hidden = self._norm(hidden.index_select(1, keep), weights[f"{names.norm}.weight"])
        return functional.linear(hidden, weights[f"{names.head}.weight"])

    def _rotary_tables(
        self, frequencies: Tensor, positions: Tensor, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        """Cosine and sine, [batch, sequence, 1, head_dim / 2]; angles are float32."""
        angles = (positions.transpose(0, 1)[..., None].float() * frequencies)[:, :, None]
        scaling = self.architecture.rotary.attention_scaling
        return (angles.cos() * scaling).to(dtype), (angles.sin() * scaling).to(dtype)

    @staticmethod
    def _mask(reach: Tensor, seen: Tensor, window: int | None) -> Tensor:
        """bool [batch, 1, sequence, reach]: which keys a token sees."""
        mask = reach <= seen
        return mask if window is None else mask & (reach > seen - window)

    def _norm(self, value: Tensor, weight: Tensor) -> Tensor:
        """RMSNorm over the last axis, statistics in float32."""
        wide = value.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.architecture.rms_norm_eps)
        return weight * (wide * scale).to(value.dtype)

    def _attend(
        self,
        weights: Mapping[str, Tensor],
        part: str,
        hidden: Tensor,
        tables: tuple[Tensor, Tensor],
        cache: tuple[Tensor, Tensor],
        place: tuple[Tensor, Tensor],
        mask: Tensor,
    ) -> Tensor:
        architecture, names = self.architecture, self.architecture.names
        batch, sequence = hidden.shape[:2]
        query = self._heads(weights, f"{part}.{names.query}", hidden, architecture.heads)
        key = self._heads(weights, f"{part}.{names.key}", hidden, architecture.kv_heads)
        value = self._heads(weights, f"{part}.{names.value}", hidden, architecture.kv_heads)
        if architecture.qk_norm:
            query = self._norm(query, weights[f"{part}.{names.query_norm}.weight"])
            key = self._norm(key, weights[f"{part}.{names.key_norm}.weight"])
        query, key = rotate(query, tables), rotate(key, tables)
        keys, values = cache
        keys.index_put_(place, key.transpose(0, 1))
        values.index_put_(place, value.transpose(0, 1))
        mixed = grouped_attention(query, keys, values, mask)
        return self._linear(weights, f"{part}.{names.output}", mixed.reshape(batch, sequence, -1))

    def _heads(
        self, weights: Mapping[str, Tensor], part: str, hidden: Tensor, count: int
    ) -> Tensor:
        """[batch, sequence, count, head_dim]."""
        flat = self._linear(weights, part, hidden)
        return flat.reshape(*hidden.shape[:2], count, self.architecture.head_dim)

    @staticmethod
    def _linear(weights: Mapping[str, Tensor], part: str, value: Tensor) -> Tensor:
        return functional.linear(value, weights[f"{part}.weight"], weights.get(f"{part}.bias"))

    def _feed_forward(self, weights: Mapping[str, Tensor], part: str, value: Tensor) -> Tensor:
        names = self.architecture.names
        gate = self._linear(weights, f"{part}.{names.gate}", value)
        up = self._linear(weights, f"{part}.{names.up}", value)
        return self._linear(weights, f"{part}.{names.down}", functional.silu(gate) * up)


def rotate(heads: Tensor, tables: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate the halves of each head against each other, as `rotate_half` in transformers does."""
    cosine, sine = tables
    first, second = heads.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


def grouped_attention(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Softmax attention, the softmax in float32.

    `query` [batch, sequence, heads, head_dim]; `keys` and `values` [reach, batch, kv_heads,
    head_dim]; `mask` bool [batch, 1, sequence, reach]. Returns what `query` is.
    """
    batch, sequence, heads, size = query.shape
    kv_heads = keys.shape[2]
    grouped = query.reshape(batch, sequence, kv_heads, heads // kv_heads, size)
    grouped = grouped.permute(0, 2, 3, 1, 4).reshape(batch, kv_heads, -1, size)
    scores = torch.matmul(grouped * (1 / math.sqrt(size)), keys.permute(1, 2, 3, 0)).float()
    scores = scores.reshape(batch, kv_heads, heads // kv_heads, sequence, -1)
    scores = scores.masked_fill(~mask[:, :, None], float("-inf"))
    shares = torch.softmax(scores, -1).to(values.dtype)
    mixed = torch.matmul(
        shares.reshape(batch, kv_heads, -1, keys.shape[0]), values.permute(1, 2, 0, 3)
    )
    mixed = mixed.reshape(batch, kv_heads, heads // kv_heads, sequence, size)
    return mixed.permute(0, 3, 1, 2, 4).reshape(batch, sequence, heads, size)


def _hang(module: nn.Module, name: str, parameter: nn.Parameter) -> None:
    """Register a parameter under a dotted name, making the modules on the way."""
    *path, last = name.split(".")
    for part in path:
        if not hasattr(module, part):
            module.add_module(part, nn.Module())
        module = getattr(module, part)
    module.register_parameter(last, parameter)
