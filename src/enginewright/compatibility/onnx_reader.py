"""Which ONNX files a reader accepts."""

from __future__ import annotations

from enginewright.compatibility.tables import find, row
from enginewright.errors import Problem
from enginewright.onnx_model.reader_limits import Reader, find_limits


def known_reader(name: str) -> Reader | None:
    """The limits of a reader such as `onnxruntime 1.32.0`; None where the table lacks it."""
    found = find("onnx_reader", name)
    if found is None:
        return None
    return Reader(name, found["opset_min"], found["opset_max"], found["ir_max"])


def reader_problems(reader: str, *, opset: int, ir_version: int) -> list[Problem]:
    """What in a file's two version numbers the reader (`onnxruntime 1.32.0`) does not accept.

    Raises `InputError` for a reader that the table lacks.
    """
    found = row("onnx_reader", reader)
    limits = Reader(reader, found["opset_min"], found["opset_max"], found["ir_max"])
    return [*find_limits(limits, found.name, opset=opset, ir_version=ir_version)]
