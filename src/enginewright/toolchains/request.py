"""What a user asks for: product, CUDA release, targets. Everything else is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from enginewright.compatibility.product import PRECISIONS, known_products
from enginewright.compatibility.version import CapabilityText
from enginewright.schema import NOT_EMPTY, Name, one_of
from enginewright.toolchains.toolchain import Device, DottedVersion, FullVersion, Release


@dataclass(frozen=True)
class LockRequest:
    """A request file, `NAME.request.toml`. The order of its lists says nothing."""

    product: Annotated[str, one_of(known_products)]
    cuda: Release
    compute_capabilities: Annotated[tuple[CapabilityText, ...], NOT_EMPTY]
    environment: Name
    """Address of the `tool_environment` with the product."""
    version: FullVersion | None = None
    """None: the lock file decides."""
    precisions: tuple[Annotated[str, one_of(PRECISIONS)], ...] = ()
    driver: DottedVersion | None = None
    """The oldest that must do."""
    toolkit: Release | None = None
    """The CUDA toolkit that compiles kernels."""
    gcc: DottedVersion | None = None
    """The host compiler of the toolkit."""
    device: Device | None = None
    """The GPU to build on, for a product whose engines are bound to one."""
