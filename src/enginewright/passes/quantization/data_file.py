"""The one file that holds the tensors of a quantized model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from enginewright.onnx_model.weights import ModelWeights, Place

DATA_FILE = "model.quantized.data"
ALIGNMENT = 4096
"""Offsets that a loader can map into memory on every common page size."""
INLINE_BYTES = 1024
"""Initializers up to this size stay inside the graph: shapes and scalars are read by parsers."""
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class DataFile:
    stream: BinaryIO
    weights: ModelWeights
    """What the tensors are read from."""

    def add(
        self, name: str, dtype: ir.DataType, shape: Sequence[int], data: Bytes
    ) -> ir.ExternalTensor:
        """The tensor that reads `data` from the end of the file."""
        self.stream.write(b"\0" * (-self.stream.tell() % ALIGNMENT))
        begin = self.stream.tell()
        self.stream.write(data.data)
        return ir.ExternalTensor(
            DATA_FILE, begin, data.nbytes, dtype, shape=ir.Shape(shape), name=name
        )

    def copy(self, tensor: ir.TensorProtocol) -> ir.TensorProtocol:
        """The same tensor, in this file unless it is small and in the graph."""
        is_inside = not isinstance(tensor, ir.ExternalTensor)
        if is_inside and ir.serde.serialize_tensor(tensor).ByteSize() <= INLINE_BYTES:
            return tensor
        shape = [int(extent) for extent in tensor.shape.numpy()]
        return self.add(str(tensor.name), tensor.dtype, shape, self.bytes_of(tensor))

    def bytes_of(self, tensor: ir.TensorProtocol) -> Bytes:
        """As they are stored, without a copy where they lie in a file."""
        if not isinstance(tensor, ir.ExternalTensor):
            return np.frombuffer(tensor.tobytes(), np.uint8)
        location = str(tensor.location)
        place = Place(str(tensor.name), location, tensor.offset or 0, tensor.length)
        return self.weights.read(place)

    def floats(self, tensor: ir.TensorProtocol) -> NDArray[np.float32]:
        """A floating-point tensor in float32, in its own shape."""
        stored: NDArray[Any] = self.bytes_of(tensor).view(tensor.dtype.numpy())
        return stored.reshape(tensor.shape.numpy()).astype(np.float32)
