from __future__ import annotations

import pytest

from enginewright.onnx_model.record import TensorRecord
from enginewright.products.tensorrt import profile_resolution
from enginewright.products.tensorrt.options import ProfileRequest

IDS = TensorRecord("input_ids", "int64", ("batch", "sequence"))
MASK = TensorRecord("mask", "int64", ("batch", 1, "sequence"))
FIXED = TensorRecord("scale", "float32", (16,))


def test_ranges_of_axes_become_ranges_of_dims() -> None:
    profile = ProfileRequest({"batch": (1, 1, 8), "sequence": (1, 128, 1024)})
    assert profile_resolution.check([IDS, MASK, FIXED], [profile]) == []
    assert profile_resolution.resolve([IDS, MASK, FIXED], profile).shapes == {
        "input_ids": ((1, 1), (1, 128), (8, 1024)),
        "mask": ((1, 1, 1), (1, 1, 128), (8, 1, 1024)),
    }


def test_an_axis_without_a_name_is_called_by_tensor_and_index() -> None:
    tensor = TensorRecord("x", "float32", (None, 3))
    profile = ProfileRequest({"x:0": (1, 2, 4)})
    assert profile_resolution.check([tensor], [profile]) == []
    assert profile_resolution.resolve([tensor], profile).shapes == {"x": ((1, 3), (2, 3), (4, 3))}


def test_unknown_and_uncovered_axes_are_named_in_every_profile() -> None:
    profiles = [
        ProfileRequest({"batch": (1, 1, 1), "seq": (1, 1, 1)}),
        ProfileRequest({"sequence": (1, 1, 1)}),
    ]
    problems = profile_resolution.check([IDS, MASK], profiles)
    assert [(p.where, p.what, p.expected) for p in problems] == [
        (
            "profiles[0]",
            "no input has a dynamic axis `seq`",
            "one of batch, sequence",
        ),
        (
            "profiles[0]",
            "dynamic axis `sequence` has no range",
            "minimum, optimum, maximum for `sequence` (`input_ids` dim 1, `mask` dim 2)",
        ),
        (
            "profiles[1]",
            "dynamic axis `batch` has no range",
            "minimum, optimum, maximum for `batch` (`input_ids` dim 0, `mask` dim 0)",
        ),
    ]


def test_dynamic_axes_need_a_profile_and_static_ones_do_not() -> None:
    assert profile_resolution.check([FIXED], []) == []
    [problem] = profile_resolution.check([IDS], [])
    assert (problem.what, problem.expected) == (
        "no optimization profile",
        "a range for each dynamic axis: batch, sequence",
    )


def test_a_static_model_has_no_axes_to_name() -> None:
    [problem] = profile_resolution.check([FIXED], [ProfileRequest({"batch": (1, 1, 1)})])
    assert problem.expected == "one of none: every axis of the model is static"


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({}, "input `end` decides shapes, so its values need a range"),
        ({"end": ((1,), (1,), (1,))}, "input `end` has another number of values"),
        (
            {"end": ((1, 1), (1, 1), (2, 2)), "x": ((1,), (1,), (1,))},
            "`x` is not a shape-tensor input",
        ),
    ],
)
def test_values_of_shape_tensors_are_checked(
    values: dict[str, tuple[tuple[int, ...], ...]], what: str
) -> None:
    problems = profile_resolution.check_values({"end": 2}, [ProfileRequest({}, values)])
    assert [problem.what for problem in problems] == [what]


def test_shape_tensors_of_a_static_model_need_values_too() -> None:
    [problem] = profile_resolution.check_values({"end": 1}, [])
    assert problem.where == "shape_values[0]"
