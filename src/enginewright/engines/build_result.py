"""What the step `build` of a product puts into `result.json`, for the step `describe`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from enginewright.engines.reproducibility import TIERS
from enginewright.engines.tensor import EngineTensor
from enginewright.hashing import FileDigest
from enginewright.schema import NOT_EMPTY, Name, one_of

Tier = Annotated[str, one_of(TIERS)]


@dataclass(frozen=True)
class ProductVersion:
    name: Name
    """Of one of the products of `registry`, such as `tensorrt-rtx`."""
    version: Name
    """As the product itself reports it, with all its fields."""


@dataclass(frozen=True)
class BuildResult:
    product: ProductVersion
    files: Annotated[Mapping[str, FileDigest], NOT_EMPTY]
    """What the product built, by path in the package; whoever takes it compares the digests."""
    tensors: tuple[EngineTensor, ...]
    """Inputs, then outputs."""
    reproducibility: Tier
    own: Mapping[str, Any] = field(default_factory=dict)
    """What only this product says."""
    warnings: tuple[str, ...] = ()
