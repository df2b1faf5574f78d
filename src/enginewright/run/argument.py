"""An option of a task's form of `python -m enginewright.run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Argument:
    flag: str
    help: str
    kind: Any = str
    """Makes the value of the text that is given."""
    is_repeated: bool = False

    @property
    def name(self) -> str:
        return self.flag.removeprefix("--").replace("-", "_")
