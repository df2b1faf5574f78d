"""The floating-point types that weights and activations of a decoder may have."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import TensorProto

from enginewright.dtype import BY_NAME, COMPUTED, Dtype
from enginewright.errors import InputError, Problem


@dataclass(frozen=True)
class ElementType:
    name: str
    """As a BUILD file and `config.json` say it."""
    safetensors: str
    """As the header of a safetensors file says it."""
    onnx: int
    """A value of `TensorProto.DataType`."""
    size: int
    """Bytes of one element."""


def _element_type(dtype: Dtype) -> ElementType:
    number = TensorProto.DataType.Value(dtype.onnx)
    return ElementType(dtype.name, dtype.safetensors or "", number, dtype.bits // 8)


ELEMENT_TYPES = tuple(_element_type(BY_NAME[name]) for name in COMPUTED)

NAMES = tuple(sorted(candidate.name for candidate in ELEMENT_TYPES))


def element_type(name: str, where: str) -> ElementType:
    """The type called `name` in a BUILD file; raise `InputError` for any other."""
    for candidate in ELEMENT_TYPES:
        if candidate.name == name:
            return candidate
    valid = ", ".join(candidate.name for candidate in ELEMENT_TYPES)
    raise InputError(Problem("unknown dtype", where, valid, str(name)))
