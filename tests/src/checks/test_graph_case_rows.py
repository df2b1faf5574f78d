"""Rows of docs/cases.md about graphs: each row's own small input, and the right answer."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.numpy_helper
import pytest

from enginewright.checks.attribute_size import check_attribute_size
from enginewright.checks.constant_range import check_constant_range
from enginewright.checks.dynamic_axes import check_dynamic_axes
from enginewright.checks.half_norms import check_half_norms
from enginewright.checks.int64_constants import check_int64_constants
from enginewright.checks.shape_inputs import check_shape_inputs
from enginewright.onnx_model.reader import CheckedModel

HEADER = '<ir_version: 10, opset_import: ["" : 23]>\n'


def model(text: str, **constants: np.ndarray) -> CheckedModel:
    proto = onnx.parser.parse_model(HEADER + text)
    for name, value in constants.items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    return CheckedModel(proto, "model.onnx")


def test_row_11_slice_bounds_fed_from_an_input_need_values_in_the_profile() -> None:
    fed = model(
        "main (float[n] x, int64[1] start, int64[1] end) => (float[k] y) "
        "{ y = Slice(x, start, end) }"
    )
    warnings = " ".join(check_shape_inputs(fed).warnings)
    assert "input `start`" in warnings
    assert "input `end`" in warnings
    fixed = "main (float[n] x) => (float[k] y) { y = Slice(x, start, end) }"
    bounds = {"start": np.asarray([0], np.int64), "end": np.asarray([2], np.int64)}
    assert check_shape_inputs(model(fixed, **bounds)).warnings == ()


def test_row_13_an_rms_norm_of_300s_overflows_in_half_and_is_found() -> None:
    def rms_norm(dtype: type) -> float:
        values = np.full(8, 300, dtype)
        with np.errstate(over="ignore"):
            return float(values[0] / np.sqrt(np.mean(values * values, dtype=dtype)))

    assert (rms_norm(np.float16), rms_norm(np.float32)) == (0.0, 1.0)
    body = (
        "{ two = Constant <value = float {2}> ()  t = CastLike(two, x)  s = Pow(x, t) "
        "axes = Constant <value_ints = [-1]> ()  m = ReduceMean(s, axes)  r = Sqrt(m) "
        "y = Div(x, r) }"
    )
    half = model(f"main (float16[n, 8] x) => (float16[n, 8] y) {body}")
    full = model(f"main (float[n, 8] x) => (float[n, 8] y) {body}")
    assert len(check_half_norms(half).problems) == 1
    assert check_half_norms(full).problems == ()


def test_row_21_a_declared_batch_that_was_exported_as_one() -> None:
    graph = model("main (float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }").model.graph
    problems = check_dynamic_axes(graph, "m", {"x": {0: "batch"}}).problems
    assert [(problem.expected, problem.actual) for problem in problems] == [
        ("`batch`", "fixed to 1")
    ]


def test_row_49_the_least_half_and_a_negative_score_are_minus_infinity() -> None:
    with np.errstate(over="ignore"):
        assert np.float16(-65504) + np.float16(-16) == -np.inf
    text = "main (float16[n] x) => (float16[n] y) { y = Add(x, c) }"
    mask = model(text, c=np.asarray(-65504, np.float16))
    assert len(check_constant_range(mask).warnings) == 1
    beyond = model(text, c=np.asarray(-np.inf, np.float16))
    assert len(check_constant_range(beyond).problems) == 1


@pytest.mark.parametrize(("elements", "problems"), [(300_000, 1), (10, 0)])
def test_row_50_weights_in_constant_attributes_count(elements: int, problems: int) -> None:
    proto = onnx.parser.parse_model(HEADER + "main (float[n] x) => (float[n] y) { y = Add(x, c) }")
    tensor = onnx.numpy_helper.from_array(np.zeros(elements, np.float32))
    proto.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["c"], value=tensor))
    found = check_attribute_size(CheckedModel(proto, "m"), limit=1_000_000).problems
    assert len(found) == problems


def test_row_53_int64_max_is_benign_as_the_end_of_a_slice_only() -> None:
    largest = np.asarray([2**63 - 1], np.int64)
    start = np.asarray([0], np.int64)
    sliced = "main (float[n] x) => (float[k] y) { y = Slice(x, start, c) }"
    added = "main (int64[n] x) => (int64[n] y) { y = Add(x, c) }"
    assert check_int64_constants(model(sliced, start=start, c=largest)).problems == ()
    assert len(check_int64_constants(model(added, c=largest)).problems) == 1
