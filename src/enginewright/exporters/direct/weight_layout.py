"""Where each tensor of a checkpoint lies in its files, as ONNX external data says it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import TensorProto

from enginewright.errors import InputError, Problem
from enginewright.onnx_model.element_type import ELEMENT_TYPES, ElementType


@dataclass(frozen=True)
class ExternalTensor:
    name: str
    shape: tuple[int, ...]
    dtype: str
    """As in the header of a safetensors file: `F32`, `BF16`, ..."""
    file: str
    """File name, relative to the folder of the model."""
    begin: int
    """Offset of the first byte from the start of the file."""
    end: int

    def to_proto(self) -> TensorProto:
        """An initializer without bytes: its data are `file[begin:end]`."""
        tensor = TensorProto(name=self.name, data_location=TensorProto.EXTERNAL)
        tensor.data_type = next(t.onnx for t in ELEMENT_TYPES if t.safetensors == self.dtype)
        tensor.dims.extend(self.shape)
        for key, value in (
            ("location", self.file),
            ("offset", str(self.begin)),
            ("length", str(self.end - self.begin)),
        ):
            tensor.external_data.add(key=key, value=value)
        return tensor


def read_layout(descriptor: Mapping[str, object]) -> tuple[ExternalTensor, ...]:
    """The tensors of a checkpoint's descriptor, `{"tensors": [{name, dtype, shape, ...}]}`."""
    tensors = descriptor.get("tensors")
    if not isinstance(tensors, list):
        raise InputError(
            Problem("descriptor of the checkpoint has no tensors", "checkpoint.json", "tensors")
        )
    return tuple(
        ExternalTensor(
            tensor["name"],
            tuple(tensor["shape"]),
            tensor["dtype"],
            tensor["file"],
            tensor["begin"],
            tensor["end"],
        )
        for tensor in tensors
    )


def is_floating(tensor: ExternalTensor) -> bool:
    return any(tensor.dtype == candidate.safetensors for candidate in ELEMENT_TYPES)


@dataclass(frozen=True)
class ConvertedFile:
    """A safetensors file whose tensors are those of `source`, all of one type."""

    file: str
    header: bytes
    """Length field included; the tensors follow in the order of `tensors`."""
    source: tuple[ExternalTensor, ...]
    tensors: tuple[ExternalTensor, ...]


def converted_layout(
    tensors: Sequence[ExternalTensor], to: ElementType
) -> tuple[ConvertedFile, ...]:
    """The files that hold the floating-point `tensors` as type `to`.

    Known without any weight, so that the graph depends on the layout alone. Files keep their names
    and their division, tensors are sorted by name, and other tensors (counters, masks) are dropped.
    """
    files: dict[str, list[ExternalTensor]] = {}
    for tensor in sorted(tensors, key=lambda tensor: tensor.name):
        if is_floating(tensor):
            files.setdefault(tensor.file, []).append(tensor)
    return tuple(_converted_file(file, files[file], to) for file in sorted(files))


def _converted_file(file: str, source: list[ExternalTensor], to: ElementType) -> ConvertedFile:
    entries: dict[str, object] = {}
    spans: list[tuple[int, int]] = []
    offset = 0
    for tensor in source:
        size = to.size
        for extent in tensor.shape:
            size *= extent
        spans.append((offset, offset + size))
        entries[tensor.name] = {
            "dtype": to.safetensors,
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    header = len(text).to_bytes(8, "little") + text
    converted = tuple(
        ExternalTensor(
            tensor.name,
            tensor.shape,
            to.safetensors,
            file,
            len(header) + begin,
            len(header) + end,
        )
        for tensor, (begin, end) in zip(source, spans, strict=True)
    )
    return ConvertedFile(file, header, tuple(source), converted)
