from __future__ import annotations

import pytest

from enginewright.engines.reproducibility import TIERS
from enginewright.engines.tensor import EngineTensor
from enginewright.products.tensorrt.reproducibility import of_plan


@pytest.mark.parametrize(
    ("shape", "has_own_heap", "tier"),
    [
        (("batch", 4), True, "bit-identical"),
        (("batch", 4), False, "functionally equal, bytes may differ"),
        ((1, 4), False, "bit-identical"),
    ],
)
def test_tier_of_a_plan(shape: tuple[str | int, ...], has_own_heap: bool, tier: str) -> None:
    tensor = EngineTensor("x", "input", "float16", shape)
    assert of_plan([tensor], has_own_heap=has_own_heap) == tier
    assert tier in TIERS
