from __future__ import annotations

import pytest

from enginewright.engine import reproducibility
from enginewright.engine.tensor import EngineTensor

MAY_DIFFER = "functionally equal, bytes may differ"


@pytest.mark.parametrize(
    ("shape", "fixed", "joins", "tier"),
    [
        (("batch", 4), True, False, "bit-identical"),
        (("batch", 4), True, True, MAY_DIFFER),
        (("batch", 4), False, False, MAY_DIFFER),
        ((1, 4), False, False, "bit-identical"),
    ],
)
def test_tier_of_a_plan(shape: tuple[str | int, ...], fixed: bool, joins: bool, tier: str) -> None:
    tensor = EngineTensor("x", "input", "float16", shape)
    actual = reproducibility.of_plan([tensor], fixed_layout=fixed, joins_dynamic_axes=joins)
    assert actual == tier
    assert tier in reproducibility.TIERS
