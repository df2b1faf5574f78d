"""The fields of an `onnx_file`."""

from __future__ import annotations

from typing import Any

import pytest
from known_model import HERE
from pants.engine.target import Target
from pants_enginewright.build_files.build_file import problems_of
from pants_enginewright.models.onnx_file import ImportFile
from pants_enginewright.models.onnx_file_targets import OnnxFileTarget


def onnx_file(**fields: Any) -> Target:
    return OnnxFileTarget({"source": "a.onnx", **fields}, HERE)


def test_what_is_left_out_is_as_the_file_has_it() -> None:
    assert [*problems_of(onnx_file())] == []
    assert ImportFile.create(onnx_file()).changes() == {"names": {}, "axes": {}}


def test_names_and_axes_as_written() -> None:
    written = {"names": {"in:0": "x"}, "axes": {"x": ["batch", 3, 48, "width"]}}
    assert [*problems_of(onnx_file(**written))] == []
    assert ImportFile.create(onnx_file(**written)).changes() == written


def test_all_its_files_are_asked_for_where_it_says() -> None:
    target = onnx_file(
        data=["a.data"], served=["labels.txt"], distribution=":w", task="raw-tensors"
    )
    wanted = ImportFile.create(target).wanted()
    assert wanted.names == ("a.onnx", "a.data", "labels.txt")
    assert (wanted.alias, wanted.distribution) == ("onnx_file", ":w")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"source": "model.pb"},
            "field `source` has value 'model.pb'; expected the name of an .onnx",
        ),
        ({"names": {"x": 3}}, "expected a dict from names of inputs and outputs to other names"),
        (
            {"axes": {"x": "batch"}},
            "expected a dict such as {'x': ['batch', 3, 'height', 'width']}",
        ),
        ({"axes": {"x": [-1]}}, "field `axes` has value {'x': [-1]}"),
        ({"task": "vision"}, "field `task` has value 'vision'; expected one of"),
        ({"distribution": ":w", "files": [":f"]}, "expected one of them at most"),
    ],
)
def test_mistakes_of_an_onnx_file(fields: dict[str, Any], problem: str) -> None:
    (found,) = problems_of(onnx_file(**fields))
    assert problem in found
