"""The seam between engines and the products that they are made for."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass

from pants.engine.unions import union

from pants_enginewright.build_files.kind import Kind


@union
@dataclass(frozen=True)
class BuildEngine(Kind, metaclass=ABCMeta):
    """Subclass for the engine target of a product, and list `*X.rules()`."""
