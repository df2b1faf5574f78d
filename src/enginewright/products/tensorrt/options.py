"""What a user asks of the builder: the parameters of its step, decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from enginewright.document import decode
from enginewright.errors import Problem, raise_if_any
from enginewright.products.tensorrt.built_plan import Capability
from enginewright.products.tensorrt.variant import Variant
from enginewright.schema import NOT_EMPTY, Count, Name, Rule, Sha256, Size, between, matches

_IN_ORDER = Rule(
    lambda sizes: bool(sizes[0] <= sizes[1] <= sizes[2]),
    lambda: "minimum <= optimum <= maximum",
)
# The minimum may be 0: a cache of keys and values is empty at first.
AxisRange = Annotated[tuple[Size, Count, Count], _IN_ORDER]
"""Minimum, optimum and maximum of a dynamic axis."""
ProfileRequest = Mapping[str, AxisRange]
"""Name of a dynamic axis -> its sizes."""


@dataclass(frozen=True)
class Toolchain:
    product: Name
    version: Annotated[str, matches(r"\d+(\.\d+){3}", "all four fields, as 1.7.1.116")]
    libraries: Annotated[Mapping[Name, Sha256], NOT_EMPTY]
    """File name -> sha256 of each shared library that the builder may load."""


@dataclass(frozen=True)
class BuildRequest:
    """`None` leaves the choice to the product."""

    toolchain: Toolchain
    compute_capabilities: Annotated[tuple[Capability, ...], NOT_EMPTY]
    """Such as `8.6`, in ascending order. Which ones exist is known once the product is loaded."""
    profiles: tuple[ProfileRequest, ...] = ()
    optimization_level: Annotated[int, between(0, 5)] | None = None
    tiling_optimization_level: Literal["none", "fast", "moderate", "full"] | None = None
    weight_streaming: bool = False
    memory_pool_limits: Mapping[str, Count] = field(default_factory=dict)
    """Pool -> bytes."""
    max_aux_streams: Size | None = None

    def __post_init__(self) -> None:
        # Sorted: the order in which they are written must not change the plan.
        ordered = sorted({*self.compute_capabilities}, key=_in_parts)
        object.__setattr__(self, "compute_capabilities", tuple(ordered))

    @classmethod
    def decode(cls, parameters: Mapping[str, Any], variant: Variant) -> BuildRequest:
        """What is asked of `variant`; raises `InputError` with every problem of the parameters."""
        request = decode(cls, parameters, "parameters")
        raise_if_any(request.problems(variant))
        return request

    def problems(self, variant: Variant) -> list[Problem]:
        """What this product cannot be asked."""
        problems = []
        product = self.toolchain.product
        if product != variant.name:
            place = "parameters, toolchain.product"
            problems.append(Problem("another product", place, variant.name, product))
        problems += [
            Problem(
                "the product does not have this option",
                f"parameters, memory_pool_limits.{pool}",
                "one of " + ", ".join(variant.memory_pools),
                pool,
            )
            for pool in sorted({*self.memory_pool_limits} - {*variant.memory_pools})
        ]
        return problems

    def options(self) -> Mapping[str, Any]:
        """The builder's own, by their names."""
        return {
            "optimization_level": self.optimization_level,
            "tiling_optimization_level": self.tiling_optimization_level,
            "memory_pool_limits": dict(self.memory_pool_limits),
            "max_aux_streams": self.max_aux_streams,
        }


def _in_parts(capability: str) -> tuple[int, str]:
    major, _, minor = capability.partition(".")
    return int(major), minor
