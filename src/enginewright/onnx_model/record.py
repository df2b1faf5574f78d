"""`onnx.json`: what the makers of a graph say of it, for readers that have no onnx package.

All of it follows from the bytes of the graph. So a step that has the graph among its inputs never
runs again because of its record. What a model was made for (task, dtype, greatest length) does not
follow from them, and reaches the steps that ask for it as parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.document import Document
from enginewright.errors import InputError, Problem, raise_if_any

FILE = "onnx.json"
FORMAT = 1

Dim = int | str | None
"""Size, name of a dynamic axis, or None where the graph says nothing."""


@dataclass(frozen=True)
class TensorRecord:
    """An input or output of the graph."""

    name: str
    dtype: str
    """As numpy and ml_dtypes call it: `float16`, `bfloat16`, `int64`."""
    shape: tuple[Dim, ...]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}

    @classmethod
    def from_document(cls, document: Document) -> TensorRecord:
        shape = document.items("shape")
        if not all(_is_dim(dim) for dim in shape):
            document.note("shape", "sizes, names of axes, or null", shape)
        return cls(document.text("name"), document.text("dtype"), tuple(shape))


@dataclass(frozen=True)
class OnnxRecord:
    inputs: tuple[TensorRecord, ...]
    """What a user feeds: without the inputs that an initializer provides."""
    outputs: tuple[TensorRecord, ...]
    opsets: Mapping[str, int]
    """Version by domain; the domain of the standard operators is `""`."""
    ir_version: int
    external_data: tuple[str, ...]
    """Files that tensors lie in, as the graph calls them, sorted."""

    @property
    def tensors(self) -> tuple[TensorRecord, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "inputs": [tensor.to_json() for tensor in self.inputs],
            "outputs": [tensor.to_json() for tensor in self.outputs],
            "opsets": dict(self.opsets),
            "ir_version": self.ir_version,
            "external_data": list(self.external_data),
        }

    def write(self, folder: Path) -> None:
        """Write `onnx.json` into `folder`."""
        canonical_json.write(folder / FILE, self.to_json())


def read_record(path: Path) -> OnnxRecord:
    """Raise `InputError` with every field of the file that is not as it should be."""
    document = Document(canonical_json.read_object(path), str(path))
    if document.number("format") != FORMAT:
        what = "the record of the graph has another format"
        found = repr(document.value.get("format"))
        raise InputError(Problem(what, f"{path}, format", str(FORMAT), found))
    record = OnnxRecord(
        document.children("inputs", TensorRecord.from_document),
        document.children("outputs", TensorRecord.from_document),
        _opsets(document),
        document.number("ir_version"),
        document.texts("external_data"),
    )
    raise_if_any(document.problems)
    return record


def _opsets(document: Document) -> Mapping[str, int]:
    opsets = document.table("opsets")
    if not all(type(version) is int for version in opsets.values()):
        document.note("opsets", "a version by domain", dict(opsets))
    return dict(opsets)


def _is_dim(value: object) -> bool:
    return value is None or isinstance(value, str) or (type(value) is int and value >= 0)
