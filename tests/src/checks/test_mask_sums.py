from __future__ import annotations

import numpy as np
import pytest
from textual_model import model

from enginewright.checks.findings import Findings
from enginewright.checks.mask_sums import check_mask_sums

TWO_MASKS = """main (float16[n, n] scores, bool[n, n] causal, int64[1, n] attention_mask)
    => (float16[n, n] y) {{
    one = Where(causal, zero, {causal})
    there = Cast <to = 10> (attention_mask)
    absent = Sub(ones, there)
    other = Mul(absent, {padding})
    {both}
    y = Add(scores, both)
}}"""
CONSTANTS = {
    "zero": np.array(0, np.float16),
    "ones": np.array(1, np.float16),
    "least": np.array(-65504, np.float16),
    "half": np.array(-32752, np.float16),
}


@pytest.mark.parametrize(
    ("causal", "padding", "both", "problems"),
    [
        ("least", "least", "both = Add(one, other)", 1),
        ("least", "half", "both = Add(one, other)", 1),
        ("half", "half", "both = Add(one, other)", 0),
        ("least", "least", "both = Min(one, other)", 0),
    ],
)
def test_two_masks_that_fit_alone(causal: str, padding: str, both: str, problems: int) -> None:
    text = TWO_MASKS.format(causal=causal, padding=padding, both=both)
    findings = check_mask_sums(model(text, CONSTANTS))
    assert [(p.what, p.where) for p in findings.problems] == [
        ("masks that are added to each other overflow", "m, node `both` (Add)")
    ] * problems


def test_the_least_half_twice_is_minus_infinity() -> None:
    with np.errstate(over="ignore"):
        assert np.float16(-65504) + np.float16(-65504) == -np.inf
        assert np.float16(-32752) + np.float16(-32752) == -65504


def test_float32_has_room_for_both() -> None:
    text = TWO_MASKS.format(causal="least", padding="least", both="both = Add(one, other)")
    wide = {name: array.astype(np.float32) for name, array in CONSTANTS.items()}
    checked = model(text.replace("float16", "float").replace("to = 10", "to = 1"), wide)
    assert check_mask_sums(checked) == Findings()
