"""An ONNX model as files: the graph, and its external data in the same folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginewright.errors import InputError, Problem


def find_model(paths: Sequence[Path]) -> Path:
    """The one `.onnx` file among `paths`; the others are its external data.

    Raises `InputError` unless there is exactly one.
    """
    models = [path for path in paths if path.suffix == ".onnx"]
    if len(models) != 1:
        names = ", ".join(path.name for path in paths) or "none"
        raise InputError(Problem("not one ONNX model", "input `model`", "one .onnx file", names))
    return models[0]
