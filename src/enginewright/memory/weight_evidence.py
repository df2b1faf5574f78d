"""The shape of a model against the shapes of its weights: what is stored is what will run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from enginewright.checkpoint.safetensors_header import TensorInfo
from enginewright.memory.layer import Layer, LayerKind
from enginewright.memory.model_shape import ModelShape
from enginewright.memory.weights import layer_number

_PROJECTION = re.compile(r"\.(k_proj|v_proj|kv_a_proj_with_mqa)\.weight$")
_WHOLE = {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"}
"""Stored dtypes of one element each: packed integers hide the number of rows."""


@dataclass(frozen=True)
class _Rows:
    """Output rows of the projections of one layer; 0 where the layer has none of that name."""

    keys: int = 0
    values: int = 0
    latent: int = 0


def with_evidence(shape: ModelShape, tensors: Iterable[TensorInfo]) -> ModelShape:
    """The shape with the sizes that the weights have; a contradiction is a doubt that names both.

    Weights without projections of the usual names, or packed ones, say nothing.
    """
    tensors = list(tensors)
    rows = _rows(tensors, len(shape.layers))
    layers, doubts = [], []
    for number, layer in enumerate(shape.layers):
        corrected = _corrected(layer, rows.get(number, _Rows()))
        layers.append(corrected)
        if corrected.token_elements() != layer.token_elements():
            doubts.append((number, layer.token_elements(), corrected.token_elements()))
    shape = replace(shape, doubts=(*shape.doubts, *_without_projections(shape, tensors, rows)))
    if shape.caching_layers and len(rows) >= len(shape.caching_layers):
        shape = replace(shape, guesses=())
    if not doubts:
        return shape
    number, config, stored = doubts[0]
    more = f", and {len(doubts) - 1} layers more" if len(doubts) > 1 else ""
    said = (
        f"config.json and weights contradict each other: layer {number} keeps {config} elements a "
        f"token by config.json, {stored} by its projections{more}; the weights count"
    )
    return replace(shape, layers=tuple(layers), doubts=(*shape.doubts, said))


def _without_projections(
    shape: ModelShape, tensors: Iterable[TensorInfo], rows: Mapping[int, _Rows]
) -> list[str]:
    """Layers of attention that have weights, but none of the projections that the others have."""
    stored = {layer_number(tensor.name) for tensor in tensors}
    attending = {
        number
        for number, layer in enumerate(shape.layers)
        if layer.kind is not LayerKind.SHARED and layer.token_elements()
    }
    bare = sorted(number for number in (stored & attending) - {*rows} if number is not None)
    if not bare or not rows.keys() & attending:
        return []
    shown = ", ".join(str(number) for number in bare[:8])
    return [f"config.json has attention in layers {shown}, whose weights project no keys"]


def _rows(tensors: Iterable[TensorInfo], layers: int) -> Mapping[int, _Rows]:
    names = {"k_proj": "keys", "v_proj": "values", "kv_a_proj_with_mqa": "latent"}
    found: dict[int, _Rows] = {}
    for tensor in tensors:
        match = _PROJECTION.search(tensor.name)
        number = layer_number(tensor.name)
        if match is None or number is None or number >= layers or "indexer" in tensor.name:
            continue
        if len(tensor.shape) == 2 and tensor.dtype in _WHOLE:
            rows = {names[match[1]]: tensor.shape[0]}
            found[number] = replace(found.get(number, _Rows()), **rows)
    return found


def _corrected(layer: Layer, rows: _Rows) -> Layer:
    if layer.latent_width:
        return replace(layer, latent_width=rows.latent or layer.latent_width)
    if layer.kind not in (LayerKind.FULL, LayerKind.SLIDING):
        return layer
    keys = rows.keys or layer.kv_heads * layer.key_dim
    # Where keys serve as values, too, there is no second projection.
    values = rows.values or layer.kv_heads * layer.value_dim
    if (keys, values) == (layer.kv_heads * layer.key_dim, layer.kv_heads * layer.value_dim):
        return layer
    heads = keys // layer.key_dim if keys % layer.key_dim == 0 else layer.kv_heads
    if keys % heads or values % heads:
        heads = 1
    return replace(layer, kv_heads=heads, key_dim=keys // heads, value_dim=values // heads)
