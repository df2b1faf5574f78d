"""How far a second build of an engine gives the same thing: the tiers, and that of a plan."""

from __future__ import annotations

from collections.abc import Iterable

from enginewright.engines.tensor import EngineTensor

BIT_IDENTICAL = "bit-identical"
FUNCTIONALLY_EQUAL = "functionally equal, bytes may differ"
"""The same kernels and weights; the plan's numbering of dynamic axes may differ."""
TIERS = (BIT_IDENTICAL, FUNCTIONALLY_EQUAL, "tactic-replayed", "validated within tolerance")


def of_plan(tensors: Iterable[EngineTensor], *, has_own_heap: bool) -> str:
    """The tier of a plan of TensorRT for RTX with these inputs and outputs.

    The builder (seen with 1.7.1.116) numbers dynamic axes as the addresses of the heap fall.
    `has_own_heap`: whether it ran on the heap of `deterministic_process`; elsewhere even graphs of
    one operator gave plans that differ.
    """
    is_dynamic = any(not isinstance(dim, int) for tensor in tensors for dim in tensor.shape)
    return BIT_IDENTICAL if has_own_heap or not is_dynamic else FUNCTIONALLY_EQUAL
