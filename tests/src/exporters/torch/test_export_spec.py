"""Parameters of the export."""

from __future__ import annotations

from typing import Any

import pytest

from enginewright.errors import InputError
from enginewright.exporters.torch.spec import ExportSpec

SOUND: dict[str, Any] = {
    "task": "text-generation",
    "opset": 23,
    "dtype": "float16",
    "dynamic_axes": ["batch", "sequence"],
}


def errors(parameters: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        ExportSpec.parse(parameters)
    return str(caught.value)


def test_sound_parameters() -> None:
    assert ExportSpec.parse(SOUND) == ExportSpec(
        "text-generation", 23, "float16", ("batch", "sequence"), {}
    )
    static = {**SOUND, "dynamic_axes": ["sequence"], "static_axes": {"batch": 1}}
    assert ExportSpec.parse(static).static_axes == {"batch": 1}


def test_all_wrong_values_at_once() -> None:
    text = errors(
        {
            "task": "poetry",
            "opset": 17,
            "dtype": "int4",
            "dynamic_axes": ["time", "batch"],
            "static_axes": {"batch": 0},
        }
    )
    valid = "feature-extraction or text-generation or text-generation-with-past"
    assert f"expected: {valid}\n  actual:   'poetry'" in text
    assert "expected: one of 18, 19, 20, 21, 22, 23\n  actual:   17" in text
    assert "expected: bfloat16 or float16 or float32" in text
    assert "parameter `static_axes.batch`" in text


def test_the_axes_are_those_of_the_task() -> None:
    text = errors({**SOUND, "dynamic_axes": ["time", "batch"], "static_axes": {"batch": 1}})
    assert "expected: batch and sequence\n  actual:   'time'" in text
    assert "axis `batch` must be given once" in text
    assert "axis `sequence` must be given once" in text


def test_unknown_missing_and_ill_typed_parameters_at_once() -> None:
    text = errors({"opset": 23, "dynamic_axes": "batch", "static_axes": [], "colour": "red"})
    assert "unknown parameter\n  where:    parameter `colour`" in text
    assert "missing parameter\n  where:    parameter `task`" in text
    assert "missing parameter\n  where:    parameter `dtype`" in text
    assert "expected: a list of names" in text
    assert "expected: an object of sizes by name" in text
