"""Opsets of the exporters: the plugin's list and the library's are one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pants.engine.addresses import Address
from pants_enginewright.models.exporters import OPSETS
from pants_enginewright.models.targets import OpsetField

LIBRARY = Path(__file__).parents[2] / "src/enginewright/exporters/opsets.py"


def test_the_library_writes_what_a_build_file_may_ask_for() -> None:
    *_, assignment = ast.parse(LIBRARY.read_text(encoding="utf-8")).body
    assert isinstance(assignment, ast.Assign)
    assert ast.literal_eval(assignment.value) == OPSETS


@pytest.mark.parametrize("opset", [17, 24, 25])
def test_an_opset_that_no_exporter_writes_is_refused_at_the_field(opset: int) -> None:
    field = OpsetField(opset, Address("here", target_name="it"))
    assert list(field.problems()) == [
        f"field `opset` has value {opset}; expected an integer of at least 18 and at most 23"
    ]
