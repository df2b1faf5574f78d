"""Positions, frequencies and angles in half precision, in the forms that exporters write."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from textual_model import model

from enginewright.checks.findings import Findings
from enginewright.checks.half_positions import check_half_positions

FREQUENCIES = np.array([[1.0, 0.1, 0.01, 0.001]])
Constants = Mapping[str, NDArray[np.generic]]

ROTARY = """main (int64[n] position_ids) => ({dtype}[n, 4] y) <int64[1] one = {{1}}> {{
    column = Unsqueeze(position_ids, one)
    p = Cast <to = {positions}> (column)
    f = Cast <to = {frequencies}> (stored)
    a = Mul(p, f)
    c = Cos(a)
    y = Cast <to = 10> (c)
}}"""


def rotary(positions: int, frequencies: int, stored: type[np.generic]) -> Findings:
    text = ROTARY.format(dtype="float16", positions=positions, frequencies=frequencies)
    return check_half_positions(model(text, {"stored": FREQUENCIES.astype(stored)}), 4096)


def found(findings: Findings) -> list[tuple[str, str]]:
    return [(problem.what, problem.where) for problem in findings.problems]


def test_angles_in_float32_pass_even_where_the_cosine_is_half() -> None:
    assert rotary(1, 1, np.float32) == Findings()


def test_everything_in_half_is_found_where_it_begins() -> None:
    assert found(rotary(10, 10, np.float32)) == [
        ("angles are half precision", "m, node `a` (Mul), tensor `a`"),
        ("inverse frequencies are half precision", "m, node `f` (Cast), tensor `f`"),
        ("positions are half precision", "m, node `p` (Cast), tensor `p`"),
    ]


def test_frequencies_that_were_stored_in_half_are_lost_though_cast_back() -> None:
    """`model.half()` rounds the buffer of inverse frequencies: the cast comes too late."""
    assert found(rotary(1, 1, np.float16)) == [
        ("inverse frequencies are half precision", "m, tensor `stored`")
    ]


def test_the_error_that_is_named_is_the_error() -> None:
    (problem,) = rotary(1, 1, np.float16).problems
    assert problem.actual == "float16: the angle of position 4096 is off by up to 2 radians"
    exact = 4096 * np.float64(np.nextafter(np.float16(1), np.float16(2)))
    between = 4096 * (1 + 2.0**-11)
    assert exact - between == 2.0


@pytest.mark.parametrize(
    ("dtype", "length", "problems", "warnings"),
    [
        ("float16", 2048, 0, 0),
        ("float16", 2049, 1, 0),
        ("float16", None, 0, 1),
        ("bfloat16", 256, 0, 0),
        ("bfloat16", 257, 1, 0),
    ],
)
def test_positions_without_angles_are_judged_by_the_length(
    dtype: str, length: int | None, problems: int, warnings: int
) -> None:
    """ALiBi and distances: whole numbers that half precision holds up to a point."""
    number = {"float16": 10, "bfloat16": 16}[dtype]
    checked = model(
        f"main ({dtype}[n, 4] x) => ({dtype}[n, 4] y) <int64 zero = {{0}}, int64 one = {{1}}> {{"
        "  vector = Shape <start = 0, end = 1> (x)  n = Squeeze(vector)"
        "  range = Range(zero, n, one)  axis = Unsqueeze(range, one_axis)"
        "  negated = Neg(axis)"
        f" half = Cast <to = {number}> (negated)"
        "  bias = Mul(half, slope)  y = Add(x, bias) }",
        {
            "one_axis": np.array([1]),
            "slope": np.array(0.5, {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}[dtype]),
        },
    )
    findings = check_half_positions(checked, length)
    assert (len(findings.problems), len(findings.warnings)) == (problems, warnings)
    for problem in findings.problems:
        exact = {"float16": 2048, "bfloat16": 256}[dtype]
        assert problem.where == "m, node `half` (Cast), tensor `half`"
        assert problem.actual == (
            f"{dtype}, which holds whole numbers up to {exact}; the model reaches {length}"
        )


def test_the_least_whole_number_that_is_not_exact() -> None:
    """As int: numpy would round the other side of a comparison too."""
    assert [int(np.float16(n)) for n in (2047, 2048, 2049)] == [2047, 2048, 2048]
    assert [int(ml_dtypes.bfloat16(n)) for n in (255, 256, 257)] == [255, 256, 256]


def test_a_range_whose_end_is_written_down_is_judged_by_it() -> None:
    text = (
        "main (float16[n, 4] x) => (float16[n, 4] y) <int64 a = {0}, int64 b = {%d}, int64 s = {1}>"
        "{ r = Range(a, b, s)  h = Cast <to = 10> (r)  m = ReduceMax <keepdims = 0> (h)"
        "  y = Add(x, m) }"
    )
    assert check_half_positions(model(text % 16), 10**6) == Findings()
    assert len(check_half_positions(model(text % 4097), 16).problems) == 1


def test_a_range_in_half_precision_has_half_positions() -> None:
    checked = model(
        "main (float16 n) => (float[k] y) { r = Range(zero, n, one)  f = Cast <to = 1> (r)"
        "  a = Mul(f, frequency)  y = Sin(a) }",
        {
            "zero": np.array(0, np.float16),
            "one": np.array(1, np.float16),
            "frequency": np.array(0.1, np.float32),
        },
    )
    assert found(check_half_positions(checked, 4096)) == [
        ("positions are half precision", "m, node `r` (Range), tensor `r`")
    ]


def test_positions_counted_from_a_mask_in_half() -> None:
    checked = model(
        "main (int64[b, n] attention_mask) => (float[b, n] y) <int64 axis = {1}> {"
        "  m = Cast <to = 10> (attention_mask)  p = CumSum(m, axis)  y = Cast <to = 1> (p) }"
    )
    assert found(check_half_positions(checked, 4096)) == [
        ("positions are half precision", "m, node `p` (CumSum), tensor `p`")
    ]


def test_frequencies_computed_in_half() -> None:
    checked = model(
        "main (int64[n, 1] position_ids) => (float[n, k] y) {"
        "  h = Cast <to = 10> (steps)  e = Div(h, width)  t = Pow(theta, e)  i = Reciprocal(t)"
        "  f = Cast <to = 1> (i)  p = Cast <to = 1> (position_ids)  a = Mul(p, f)  y = Sin(a) }",
        {
            "steps": np.array([[0.0, 2.0, 4.0]], np.float32),
            "width": np.array(6.0, np.float16),
            "theta": np.array(10000.0, np.float16),
        },
    )
    assert [what for what, _ in found(check_half_positions(checked, 128))] == [
        "inverse frequencies are half precision"
    ]


BRANCH = """main (int64[n, 1] position_ids, bool far) => (float[n, 4] y) {{
    p = Cast <to = 1> (position_ids)
    f = If (far) <
        then_branch = long () => (float[1, 4] a) {{ a = Cast <to = 1> (long_frequencies) }},
        else_branch = short () => (float[1, 4] b) {{ b = Identity(short_frequencies) }}
    >
    {angles}
    y = Sin(angles)
}}"""


@pytest.mark.parametrize("angles", ["angles = Mul(p, f)", "angles = own.product(p, f)"])
def test_frequencies_of_a_branch_and_angles_of_a_function(angles: str) -> None:
    """Scalings that choose their frequencies by the length do it with `If`."""
    function = """<domain: "own", opset_import: ["" : 23]>
    product (p, f) => (a) { a = Mul(p, f) }"""
    text = BRANCH.format(angles=angles) + (function if "own" in angles else "")
    constants: Constants = {
        "long_frequencies": FREQUENCIES.astype(np.float16),
        "short_frequencies": FREQUENCIES.astype(np.float32),
    }
    assert found(check_half_positions(model(text, constants), 128)) == [
        ("inverse frequencies are half precision", "m, tensor `long_frequencies`")
    ]
    sound = {name: array.astype(np.float32) for name, array in constants.items()}
    assert check_half_positions(model(text, sound), 128) == Findings()


def test_positions_that_a_loop_counts() -> None:
    checked = model(
        "main (int64 n, float[1] first) => (float[k] y) <bool yes = {1}> {"
        "  last, angles = Loop (n, yes, first) <body = body"
        "    (int64 i, bool c, float[1] carried) => (bool d, float[1] next, float[1] angle)"
        "    { d = Identity(c)  p = Cast <to = 10> (i)  a = Mul(p, frequency)"
        "      w = Cast <to = 1> (a)  angle = Reshape(w, one)  next = Add(carried, angle) }>"
        "  flat = Reshape(angles, all)  y = Sin(flat) }",
        {
            "frequency": np.array(0.1, np.float16),
            "one": np.array([1]),
            "all": np.array([-1]),
        },
    )
    assert "angles are half precision" in [
        what for what, _ in found(check_half_positions(checked, 128))
    ]


@pytest.mark.parametrize(
    "activation",
    [
        "h = MatMul(x, w)  y = Sin(h)",
        "e = Gather(w, ids)  h = Mul(e, w)  y = Cos(h)",
    ],
)
def test_a_sine_of_data_is_no_angle_of_positions(activation: str) -> None:
    """Networks have sines as activations, and embeddings that are looked up."""
    checked = model(
        f"main (float16[4, 4] x, int64[4] ids) => (float16[4, 4] y) {{ {activation} }}",
        {"w": np.full((4, 4), 0.3, np.float16)},
    )
    assert check_half_positions(checked, 4096) == Findings()
