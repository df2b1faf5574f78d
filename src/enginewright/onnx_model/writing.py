"""What every step that makes a graph puts out: the graph and its record."""

from __future__ import annotations

from pathlib import Path

from onnx import ModelProto

from enginewright.onnx_model.description import describe
from enginewright.onnx_model.record import OnnxRecord

FOLDER = "model"
"""Of the graph and its data, below the outputs; the record lies outside of it."""
GRAPH = "model.onnx"


def write_graph(model: ModelProto, outputs: Path) -> OnnxRecord:
    """Write `model/model.onnx` and `onnx.json`; equal models give equal bytes."""
    record = describe(model)
    folder = outputs / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / GRAPH).write_bytes(model.SerializeToString(deterministic=True))
    record.write(outputs)
    return record
