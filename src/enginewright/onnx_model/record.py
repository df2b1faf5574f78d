"""`onnx.json`: what the makers of a graph say of it, for readers that have no onnx package.

All of it follows from the bytes of the graph. So a step that has the graph among its inputs never
runs again because of its record. What a model was made for (task, dtype, greatest length) does not
follow from them, and reaches the steps that ask for it as parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from enginewright import canonical_json, document
from enginewright.schema import Count, Name, Size

FILE = "onnx.json"

Dim = Size | Name | None
"""Size, name of a dynamic axis, or None where the graph says nothing."""


@dataclass(frozen=True)
class TensorRecord:
    """An input or output of the graph."""

    name: Name
    dtype: Name
    """As numpy and ml_dtypes call it: `float16`, `bfloat16`, `int64`."""
    shape: tuple[Dim, ...]

    @property
    def axes(self) -> Mapping[int, str]:
        """Name of each dynamic axis that has one, by position."""
        return {place: dim for place, dim in enumerate(self.shape) if isinstance(dim, str)}


@dataclass(frozen=True)
class OnnxRecord:
    inputs: tuple[TensorRecord, ...]
    """What a user feeds: without the inputs that an initializer provides."""
    outputs: tuple[TensorRecord, ...]
    opsets: Mapping[str, Count]
    """Version by domain; the domain of the standard operators is `""`."""
    ir_version: Count
    external_data: tuple[Name, ...]
    """Files that tensors lie in, as the graph calls them, sorted."""
    format: Literal[1] = 1

    @property
    def tensors(self) -> tuple[TensorRecord, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    def write(self, folder: Path) -> None:
        """Write `onnx.json` into `folder`."""
        canonical_json.write(folder / FILE, document.encode(self))


def read_record(path: Path) -> OnnxRecord:
    """Raise `InputError` with every field of the file that is not as it should be."""
    return document.read(OnnxRecord, path)
