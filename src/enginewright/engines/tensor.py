"""An input or output of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from enginewright.schema import Name, Size


@dataclass(frozen=True)
class EngineTensor:
    name: Name
    mode: Literal["input", "output"]
    dtype: Name
    """As numpy and ml_dtypes call it: `float16`, `bfloat16`, `int64`."""
    shape: tuple[Size | str, ...]
    """Size or axis name of each dim; a dynamic dim without a name is `TENSOR:INDEX`."""

    @property
    def is_dynamic(self) -> bool:
        return any(isinstance(dim, str) for dim in self.shape)
