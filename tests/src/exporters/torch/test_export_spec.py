"""Parameters of the export."""

from __future__ import annotations

from typing import Any

import pytest

from enginewright.document import decode
from enginewright.errors import InputError
from enginewright.exporters.torch.spec import ExportSpec

SOUND: dict[str, Any] = {"task": "text-generation", "opset": 23, "dtype": "float16"}


def places(parameters: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        decode(ExportSpec, parameters, "parameters")
    return [(problem.where, problem.expected) for problem in caught.value.problems]


def test_sound_parameters() -> None:
    assert decode(ExportSpec, SOUND, "parameters") == ExportSpec("text-generation", 23, "float16")


def test_all_wrong_values_at_once() -> None:
    assert places({"task": "poetry", "opset": 17, "dtype": "int4"}) == [
        (
            "parameters, task",
            "one of feature-extraction, text-classification, text-generation, "
            "text-generation-with-past, token-classification",
        ),
        ("parameters, opset", "one of 18, 19, 20, 21, 22, 23"),
        ("parameters, dtype", "one of bfloat16, float16, float32"),
    ]


def test_axes_are_no_parameter() -> None:
    """No axis can be static: a model's graph serves every batch and length."""
    assert places({**SOUND, "dynamic_axes": ["batch"]}) == [
        ("parameters", "one of task, opset, dtype")
    ]
