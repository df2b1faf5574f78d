"""The GPU that an engine is compiled for, as a description: no such GPU need be here."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.compatibility.version import ComputeCapability


@dataclass(frozen=True)
class Gpu:
    """What the compiler asks a device for; the names are those of `cudaDeviceProp`."""

    name: str
    compute_capability: str
    """Such as `9.0`."""
    multi_processor_count: int
    regs_per_multiprocessor: int
    max_threads_per_multi_processor: int
    max_threads_per_block: int
    warp_size: int
    shared_memory_per_block: int
    """Bytes that a kernel has without asking."""
    shared_memory_per_block_optin: int
    """Bytes that a kernel can ask for."""
    l2_cache_size: int
    """Bytes."""
    total_memory: int
    """Bytes."""

    def __post_init__(self) -> None:
        ComputeCapability.parse(self.compute_capability)

    @property
    def major(self) -> int:
        return int(self.compute_capability.split(".")[0])

    @property
    def minor(self) -> int:
        return int(self.compute_capability.split(".")[1])

    @property
    def architecture(self) -> int:
        """As Triton counts: 90 for 9.0."""
        return 10 * self.major + self.minor
