"""What a comparison on a device found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from enginewright.validation.comparison import Comparison
from enginewright.validation.measurement import Measured


@dataclass(frozen=True)
class Generated:
    tokens: int
    """That the engine chose."""
    as_reference: int
    """How many of them the reference would choose after the same text."""


@dataclass(frozen=True)
class DeviceComparison:
    measured: Measured
    """The engine against the reference."""
    eager: Comparison
    """PyTorch in the engine's type against it, over the whole dataset once."""
    eager_dtype: str
    generated: Generated | None
    """None where the engine does not choose tokens by itself."""

    @property
    def error_ratio(self) -> float | None:
        """Relative error of the engine by that of PyTorch, where both saw the whole dataset.

        None where PyTorch has none: the type is the reference's own.
        """
        whole = Comparison()
        for run in self.measured.runs:
            if run.is_whole:
                whole.merge(run.comparison)
        engine, eager = whole.relative_error, self.eager.relative_error
        return engine / eager if engine is not None and eager else None

    def details(self) -> dict[str, Any]:
        """What the report says beside the measurements."""
        return {
            "eager": {"dtype": self.eager_dtype, **self.eager.to_json()},
            "error_ratio": self.error_ratio,
            "generated": None if self.generated is None else asdict(self.generated),
        }
