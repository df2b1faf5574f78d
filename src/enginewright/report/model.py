"""The structure of a model, from the headers of its safetensors files."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from enginewright.checkpoint.safetensors_header import TensorInfo
from enginewright.memory.weights import read_stored
from enginewright.report.html import Section, paragraph, table

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


@dataclass(frozen=True)
class LayerTensors:
    """Tensors of one name, shape and dtype that stand in several layers."""

    name: str
    """With `N` for the number of the layer."""
    count: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def parameters(self) -> int:
        """Of all of them."""
        return self.count * math.prod(self.shape)


def layers_of(tensors: Sequence[TensorInfo]) -> tuple[LayerTensors, ...]:
    """In the order of the names."""
    counted: dict[tuple[str, tuple[int, ...], str], int] = {}
    for tensor in tensors:
        kind = (_NUMBER.sub("N", tensor.name), tensor.shape, tensor.dtype)
        counted[kind] = counted.get(kind, 0) + 1
    rows = sorted(counted.items())
    return tuple(LayerTensors(name, count, shape, dtype) for (name, shape, dtype), count in rows)


def model_section(checkpoint: Path) -> Section:
    """Raises `InputError` where the folder has no whole safetensors files."""
    layers = layers_of([*read_stored(checkpoint).tensors()])
    total = sum(layer.parameters for layer in layers)
    rows = [
        [
            layer.name,
            str(layer.count),
            str([*layer.shape]),
            layer.dtype,
            f"{layer.parameters:,}",
        ]
        for layer in layers
    ]
    said = f"{total:,} parameters as the checkpoint stores them. N is the number of a layer."
    head = ["tensor", "times", "shape", "dtype", "parameters"]
    return Section("Model", paragraph(said) + table("Tensors of the model", head, rows))
