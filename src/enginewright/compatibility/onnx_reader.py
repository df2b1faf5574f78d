"""Which ONNX files a reader accepts."""

from __future__ import annotations

from enginewright.compatibility.tables import row
from enginewright.errors import Problem


def reader_problems(reader: str, *, opset: int, ir_version: int) -> list[Problem]:
    """What in a file's two version numbers the reader (`onnxruntime 1.32.0`) does not accept.

    Raises `InputError` for a reader that the table lacks.
    """
    found = row("onnx_reader", reader)
    problems = []
    if ir_version > found["ir_max"]:
        problems.append(
            Problem(
                f"{reader} does not read ONNX IR version {ir_version}",
                found.name,
                f"IR version {found['ir_max']} or lower",
                str(ir_version),
                "write the file with the lower IR version: `model.ir_version` in onnx",
            )
        )
    if not found["opset_min"] <= opset <= found["opset_max"]:
        problems.append(
            Problem(
                f"{reader} does not read opset {opset}",
                found.name,
                f"opset {found['opset_min']} to {found['opset_max']}",
                str(opset),
                "export with an opset of that range, or convert with `onnx.version_converter`",
            )
        )
    return problems
