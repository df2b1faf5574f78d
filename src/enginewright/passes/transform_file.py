"""What every step that transforms a model does: read the graph, run a pass, check, write."""

from __future__ import annotations

from pathlib import Path

import onnx_ir as ir
from onnx import ModelProto

from enginewright.errors import InputError, Problem
from enginewright.onnx_model.description import describe
from enginewright.onnx_model.external_tensors import find_invalidity
from enginewright.onnx_model.loading import load_graph, to_proto, with_shapes
from enginewright.onnx_model.writing import write_graph
from enginewright.passes.transformation import Pass, Report, apply


def transform_file(path: Path, outputs: Path, transformation: Pass[ir.Model, Report]) -> Report:
    """Write the transformed graph of `path` and its record; return the pass' report.

    Raises `InputError` where the pass cannot be used, or its result is no valid ONNX.
    """
    original = load_graph(path)
    done = apply(transformation, with_shapes(original), path.name)
    model = to_proto(done.model, original)
    invalid = find_invalidity(model)
    if invalid:
        raise InputError(Problem("not a valid ONNX model", path.name, actual=invalid))
    assert _interface(model) == _interface(original), "a pass keeps inputs and outputs"
    write_graph(model, outputs)
    return done.report


def _interface(model: ModelProto) -> object:
    record = describe(model)
    return record.inputs, record.outputs
