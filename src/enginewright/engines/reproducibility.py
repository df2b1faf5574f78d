"""How far a second build of an engine gives the same thing: the tiers."""

from __future__ import annotations

BIT_IDENTICAL = "bit-identical"
FUNCTIONALLY_EQUAL = "functionally equal, bytes may differ"
"""The same kernels and weights; the numbering of dynamic axes may differ."""
WITHIN_TOLERANCE = "validated within tolerance"
TIERS = (BIT_IDENTICAL, FUNCTIONALLY_EQUAL, "tactic-replayed", WITHIN_TOLERANCE)
