"""What a model was made of: a checkpoint, or a file that was there before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from pants.engine.addresses import Address

from pants_enginewright.steps.files import File, Files


@dataclass(frozen=True)
class LengthLimit:
    """The longest context that a model was made for."""

    tokens: int
    source: str
    """The fields of config.json that say so."""

    def described(self) -> Dict[str, Any]:
        """As `engine.json` says it."""
        return {"tokens": self.tokens, "source": self.source}


@dataclass(frozen=True)
class Generation:
    """Ids of the tokens that end and begin a text, as the checkpoint's files name them."""

    stop: Tuple[int, ...]
    begin: Tuple[int, ...]

    def described(self) -> Dict[str, Any]:
        """As `engine.json` says it."""
        return {"stop": list(self.stop), "begin": list(self.begin)}


NO_FILES = Files()


@dataclass(frozen=True)
class Origin:
    address: Address
    sources: Tuple[Tuple[str, File], ...]
    """Every input file by role."""
    serving: Files
    """What packages ship, at its path there."""
    kind: str
    """`decoder`, `encoder`, or `other` for an architecture that is not known."""
    config: Files = NO_FILES
    """`config.json`, where there is one."""
    length: Optional[LengthLimit] = None
    """None where nothing says it."""
    generation: Optional[Generation] = None
    """None for a model that generates no text."""
