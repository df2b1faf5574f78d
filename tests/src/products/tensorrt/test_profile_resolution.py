from __future__ import annotations

from enginewright.onnx_model.record import TensorRecord
from enginewright.products.tensorrt import profile_resolution

IDS = TensorRecord("input_ids", "int64", ("batch", "sequence"))
MASK = TensorRecord("mask", "int64", ("batch", 1, "sequence"))
FIXED = TensorRecord("scale", "float32", (16,))


def test_ranges_of_axes_become_ranges_of_dims() -> None:
    profile = {"batch": (1, 1, 8), "sequence": (1, 128, 1024)}
    assert profile_resolution.check([IDS, MASK, FIXED], [profile]) == []
    assert profile_resolution.resolve([IDS, MASK, FIXED], profile).shapes == {
        "input_ids": ((1, 1), (1, 128), (8, 1024)),
        "mask": ((1, 1, 1), (1, 1, 128), (8, 1, 1024)),
    }


def test_an_axis_without_a_name_is_called_by_tensor_and_index() -> None:
    tensor = TensorRecord("x", "float32", (None, 3))
    profile = {"x:0": (1, 2, 4)}
    assert profile_resolution.check([tensor], [profile]) == []
    assert profile_resolution.resolve([tensor], profile).shapes == {"x": ((1, 3), (2, 3), (4, 3))}


def test_unknown_and_uncovered_axes_are_named_in_every_profile() -> None:
    profiles = [
        {"batch": (1, 1, 1), "seq": (1, 1, 1)},
        {"sequence": (1, 1, 1)},
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
    [problem] = profile_resolution.check([FIXED], [{"batch": (1, 1, 1)}])
    assert problem.expected == "one of none: every axis of the model is static"


def test_inputs_whose_values_decide_shapes_are_refused() -> None:
    problems = profile_resolution.check_shape_tensors(["start", "end"])
    assert [problem.what for problem in problems] == [
        "the values of input `end` decide shapes",
        "the values of input `start` decide shapes",
    ]
