"""How far a second build gives the same plan."""

from __future__ import annotations

from collections.abc import Iterable

from enginewright.engines.reproducibility import BIT_IDENTICAL, FUNCTIONALLY_EQUAL
from enginewright.engines.tensor import EngineTensor


def of_plan(tensors: Iterable[EngineTensor], *, has_own_heap: bool) -> str:
    """The tier of a plan with these inputs and outputs.

    The builder (seen with 1.7.1.116) numbers dynamic axes as the addresses of the heap fall.
    `has_own_heap`: whether it ran on the heap of `deterministic_process`; elsewhere even graphs of
    one operator gave plans that differ.
    """
    is_dynamic = any(tensor.is_dynamic for tensor in tensors)
    return BIT_IDENTICAL if has_own_heap or not is_dynamic else FUNCTIONALLY_EQUAL
