"""Opset and IR version are within what the reader of the model understands."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem


@dataclass(frozen=True)
class Reader:
    product: str
    """For messages, such as `TensorRT for RTX 1.7.1`."""
    opset_min: int
    opset_max: int
    """Of the standard domain, both included."""
    ir_max: int


def check_reader_limits(model: onnx.ModelProto, where: str, reader: Reader) -> Findings:
    """Fail for each version number that the reader does not take, or that is absent."""
    problems = []
    if model.ir_version > reader.ir_max:
        problems.append(
            Problem(
                f"{reader.product} does not read this IR version",
                f"{where}, `ir_version`",
                f"at most {reader.ir_max}",
                str(model.ir_version),
                "export with an older version of onnx, or at a lower opset",
            )
        )
    standard = [item.version for item in model.opset_import if item.domain in ("", "ai.onnx")]
    for version in standard:
        if not reader.opset_min <= version <= reader.opset_max:
            problems.append(
                Problem(
                    f"{reader.product} does not read this opset",
                    f"{where}, `opset_import`",
                    f"{reader.opset_min} to {reader.opset_max}",
                    str(version),
                    "export at an opset of that range",
                )
            )
    if not standard:
        problems.append(
            Problem("the model does not say which opset it uses", f"{where}, `opset_import`")
        )
    return Findings(tuple(problems))
