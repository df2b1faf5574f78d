"""Opset and IR version are within what the reader of the model understands."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.errors import Problem


@dataclass(frozen=True)
class Reader:
    product: str
    """For messages, such as `tensorrt-rtx 1.7.1.116`."""
    opset_min: int
    opset_max: int
    """Of the standard domain, both included."""
    ir_max: int


def find_limits(
    reader: Reader, where: str, *, opset: int | None, ir_version: int
) -> tuple[Problem, ...]:
    """A problem for each version number that the reader does not take, or that is absent."""
    problems = []
    if ir_version > reader.ir_max:
        problems.append(
            Problem(
                f"{reader.product} does not read this IR version",
                f"{where}, `ir_version`",
                f"at most {reader.ir_max}",
                str(ir_version),
                "export with an older version of onnx, at a lower opset, or set "
                "`model.ir_version` in onnx",
            )
        )
    if opset is None:
        what = "the model does not say which opset it uses"
        problems.append(Problem(what, f"{where}, `opset_import`"))
    elif not reader.opset_min <= opset <= reader.opset_max:
        problems.append(
            Problem(
                f"{reader.product} does not read this opset",
                f"{where}, `opset_import`",
                f"{reader.opset_min} to {reader.opset_max}",
                str(opset),
                "export at an opset of that range, or convert with `onnx.version_converter`",
            )
        )
    return tuple(problems)
