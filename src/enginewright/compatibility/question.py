"""Ask a row whether it goes with a GPU, a host compiler, an ONNX file or a PTX version."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.compatibility.driver import driver_problem, release_row
from enginewright.compatibility.onnx_reader import reader_problems
from enginewright.compatibility.product import precisions_on
from enginewright.compatibility.tables import Row, row
from enginewright.compatibility.toolkit import ptx_problem, toolkit_problems
from enginewright.compatibility.torch_wheel import wheel_problem
from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError, Problem


@dataclass(frozen=True)
class Question:
    """What the row is asked about; absent parts are None."""

    target: str | None = None
    """Compute capability."""
    gcc: str | None = None
    ptx: str | None = None
    opset: int | None = None
    ir_version: int | None = None
    driver: str | None = None

    @property
    def asked(self) -> list[str]:
        return [name for name, value in vars(self).items() if value is not None]


_ASKABLE = {
    "torch_wheel": ["target"],
    "toolkit": ["target", "gcc", "ptx"],
    "product": ["target"],
    "onnx_reader": ["opset", "ir_version"],
    "driver_cuda": ["driver"],
}
"""What each table can answer."""


def asked_row(table: str, key: str) -> Row:
    """The row that is asked about; raises `InputError` that says how to add one."""
    return release_row(key) if table == "driver_cuda" else row(table, key)


def answer(found: Row, question: Question) -> list[Problem]:
    """Why the row does not go with what was asked; empty when it does.

    Raises `InputError` for a question that the table has no answer to.
    """
    askable = _ASKABLE.get(found.table, [])
    wrong = [name for name in question.asked if name not in askable]
    if wrong:
        raise InputError(
            Problem(
                f"table {found.table} says nothing about {', '.join(wrong)}",
                expected=", ".join(askable) or "no question",
            )
        )
    if found.table == "torch_wheel" and question.target:
        problem = wheel_problem(found.key, question.target)
        return [problem] if problem else []
    if found.table == "toolkit":
        targets = [ComputeCapability.parse(question.target)] if question.target else []
        problems = toolkit_problems(found.key, targets, gcc=question.gcc)
        unread = ptx_problem(question.ptx, found.key) if question.ptx else None
        return [*problems, unread] if unread else problems
    if found.table == "product" and question.target:
        return _product(found, ComputeCapability.parse(question.target))
    if found.table == "onnx_reader":
        opset = question.opset if question.opset is not None else found["opset_max"]
        return reader_problems(found.key, opset=opset, ir_version=question.ir_version or 0)
    if found.table == "driver_cuda" and question.driver:
        problem = driver_problem(question.driver, found.key)
        return [problem] if problem else []
    return []


def _product(found: Row, capability: ComputeCapability) -> list[Problem]:
    if precisions_on(found, capability) is not None:
        return []
    able = ", ".join(found["precisions"])
    return [Problem(f"{found.key} does not run on {capability}", found.name, able, str(capability))]
