"""Writes an ONNX model as a graph and one file of external data, the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import onnx_ir as ir

from enginewright.onnx_model.record import OnnxRecord
from enginewright.onnx_model.writing import FOLDER, GRAPH, write_graph

DATA_SUFFIX = ".data"
INLINE_BYTES = 1024
"""Initializers up to this size stay in the graph, where shape inference needs their values."""
ALIGNMENT = 4096
"""Bytes; readers map the file into memory."""


def write_model(model: ir.Model, outputs: Path) -> OnnxRecord:
    """Write the graph, its record and `model/model.onnx.data`; changes `model`.

    The external tensors lie in the data file in the order of their names.
    """
    folder = outputs / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    data_path = folder / (GRAPH + DATA_SUFFIX)
    with data_path.open("wb") as stream:
        for name in sorted(model.graph.initializers):
            value = model.graph.initializers[name]
            tensor = value.const_value
            if tensor is None or tensor.nbytes <= INLINE_BYTES:
                continue
            stream.write(bytes(-stream.tell() % ALIGNMENT))
            begin = stream.tell()
            stream.write(tensor.tobytes())
            value.const_value = ir.ExternalTensor(
                data_path.name,
                begin,
                tensor.nbytes,
                tensor.dtype,
                shape=ir.Shape(tensor.shape.numpy()),
                name=name,
                base_dir=folder,
            )
    proto = ir.to_proto(model)
    # Shapes of inner values have symbols of the exporter's own; every reader infers them anew.
    del proto.graph.value_info[:]
    return write_graph(proto, outputs)
