"""The record says of the graph what the graph is."""

from __future__ import annotations

from dataclasses import fields

from enginewright.checks.findings import Findings
from enginewright.errors import InputError, Problem
from enginewright.onnx_model.description import describe
from enginewright.onnx_model.reader import CheckedModel
from enginewright.onnx_model.record import FILE, OnnxRecord

_FIX = "keep each graph with the onnx.json that came with it"


def check_record(checked: CheckedModel, record: OnnxRecord) -> Findings:
    """Fail for each field in which the record is that of another graph."""
    try:
        actual = describe(checked.model)
    except InputError as error:
        return Findings(error.problems)
    return Findings(
        tuple(
            Problem(
                "the record is not that of this graph",
                f"{FILE}, {field.name}",
                str(getattr(actual, field.name))[:400],
                str(getattr(record, field.name))[:400],
                _FIX,
            )
            for field in fields(OnnxRecord)
            if getattr(actual, field.name) != getattr(record, field.name)
        )
    )
