"""The poolings of the graph beside the reference's own, one sentence at a time."""

from __future__ import annotations

import pytest
import torch

from enginewright.checkpoint.embedding import MODES
from enginewright.exporters.torch.pooling import pool
from enginewright.tasks.feature_extraction.pooling import Pooling

JOINED = ("cls", "max", "mean")


@pytest.mark.parametrize("modes", [*((mode,) for mode in MODES.values()), JOINED])
def test_row_e4_each_pooling_is_that_of_the_reference(modes: tuple[str, ...]) -> None:
    states = torch.randn((3, 5, 4), generator=torch.Generator().manual_seed(2))
    lengths = (5, 3, 1)
    mask = torch.tensor([[1] * length + [0] * (5 - length) for length in lengths])
    reference = Pooling(modes, normalize=False, source="test")
    expected = torch.stack([reference.apply(states[i, :n]) for i, n in enumerate(lengths)])
    torch.testing.assert_close(pool(states, mask, modes), expected)
