"""What AOTInductor says of an engine in `engine.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from enginewright.compatibility.version import ComputeCapability, Version
from enginewright.engines.device_needs import DeviceNeeds
from enginewright.engines.manifest import Manifest
from enginewright.errors import Problem
from enginewright.products.aotinductor.request import ShapeLimits
from enginewright.schema import Count, FromText, Name

CUDA = "13.0"
"""Release of CUDA that torch 2.11.0 was built with."""
MINIMUM_DRIVER = "580.65.06"
"""For that release; row `13.0` of `compatibility/driver_cuda.toml`."""


@dataclass(frozen=True)
class CompiledFor:
    name: Name
    """Of the GPU that was described."""
    compute_capability: Annotated[ComputeCapability, FromText(ComputeCapability.parse)]


@dataclass(frozen=True)
class AotInductorTable:
    engine: Name
    """The file that is loaded."""
    constants: Name
    """What the engine reads beside the weights."""
    dtype: Name
    layers: Count
    kv_heads: Count
    head_dim: Count
    limits: ShapeLimits
    host_compiler: Name
    tied: tuple[str, ...] = ()
    """Weights that stand for each other where only one is stored: embedding and output head."""
    gpu: CompiledFor | None = None
    """None where it runs on any x86-64 processor."""

    def problems(self, manifest: Manifest) -> Sequence[Problem]:
        built = ", ".join(manifest.built)[:400]
        return [
            Problem("not among the files that were built", f"own.{field}", f"one of {built}", name)
            for field, name in (("engine", self.engine), ("constants", self.constants))
            if name not in manifest.built
        ]

    def device_needs(self) -> DeviceNeeds | None:
        if self.gpu is None:
            return None
        axes = {"batch": self.limits.batch, "sequence": self.limits.sequence}
        return DeviceNeeds(
            CUDA,
            Version.parse(MINIMUM_DRIVER),
            (self.gpu.compute_capability,),
            "",
            ({**axes, "total_sequence": self.limits.reach},),
        )
