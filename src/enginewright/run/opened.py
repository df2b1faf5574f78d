"""A packaged engine that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from enginewright.engines.backend import Backend
from enginewright.tasks.interface import Interface


@dataclass(frozen=True)
class OpenedEngine:
    interface: Interface
    backend: Backend
    files: Mapping[str, Path]
    """All files of the package, by path in it."""
    vocabulary: int | None = None
    """Token ids that the model has; None where the package does not say."""
    stop: tuple[int, ...] = ()
    """Tokens that end a text, as engine.json names them."""
