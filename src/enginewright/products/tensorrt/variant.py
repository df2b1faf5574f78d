"""What differs between the products that share the TensorRT builder API; nothing else knows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Variant:
    name: str
    """As toolchain files say it."""
    load: Callable[[], Any]
    """Imports the Python module, whose shared libraries are loaded by that."""
    core_library: str
    """Prefix of the file name of the library that holds the version functions."""
    library_prefixes: tuple[str, ...]
    """File names with these prefixes belong to the toolchain and must be listed in it."""
    memory_pools: tuple[str, ...]
