from __future__ import annotations

import numpy as np
import pytest
from textual_model import model

from enginewright.checks.findings import Findings
from enginewright.checks.half_sums import check_half_sums

MEAN = """main (int64[b, n] attention_mask) => (float16[b, 1] y) {{
    m = Cast <to = {number}> (attention_mask)
    s = ReduceSum(m, axis)
    y = Cast <to = 10> (s)
}}"""
AXIS = {"axis": np.array([1])}


@pytest.mark.parametrize(
    ("number", "length", "problems"),
    [(10, 2048, 0), (10, 2049, 1), (16, 256, 0), (16, 512, 1), (1, 10**6, 0)],
)
def test_tokens_counted_in_half(number: int, length: int, problems: int) -> None:
    """A mean over tokens divides by their number: 2049 ones in float16 are 2048."""
    findings = check_half_sums(model(MEAN.format(number=number), AXIS), length)
    assert [problem.what for problem in findings.problems] == [
        "tokens are counted in half precision"
    ] * problems


SOFTMAX = """main ({dtype}[b, n] x) => ({dtype}[b, n] y) {{
    {shift}
    e = Exp(shifted)
    s = ReduceSum(e, axis)
    y = Div(e, s)
}}"""
RAW = "shifted = Identity(x)"
SHIFTED = "greatest = ReduceMax(x, axis)  shifted = Sub(x, greatest)"


@pytest.mark.parametrize(
    ("dtype", "shift", "length", "problems", "warnings"),
    [
        ("float16", RAW, 128, 1, 0),
        ("float", RAW, 128, 0, 0),
        ("float16", SHIFTED, 2048, 0, 0),
        ("float16", SHIFTED, 4096, 0, 1),
        ("bfloat16", SHIFTED, 512, 0, 1),
        ("float", SHIFTED, 10**6, 0, 0),
    ],
)
def test_a_softmax_written_out(
    dtype: str, shift: str, length: int, problems: int, warnings: int
) -> None:
    findings = check_half_sums(model(SOFTMAX.format(dtype=dtype, shift=shift), AXIS), length)
    assert (len(findings.problems), len(findings.warnings)) == (problems, warnings)


def test_what_a_softmax_without_its_maximum_overflows_at() -> None:
    with np.errstate(over="ignore"):
        assert np.exp(np.float16(12)) == np.inf


def test_the_operator_adds_up_in_float32() -> None:
    checked = model("main (float16[b, n] x) => (float16[b, n] y) { y = Softmax(x) }")
    assert check_half_sums(checked, 10**6) == Findings()
