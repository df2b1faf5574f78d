"""Numbers against bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from enginewright.errors import Problem, raise_if_any


@dataclass(frozen=True)
class Thresholds:
    """Bounds; `None` is no bound."""

    min_cosine_similarity: float | None = None
    """For the mean over all tokens or sentences."""
    min_worst_cosine_similarity: float | None = None
    """For the worst token or sentence."""
    max_absolute_error: float | None = None
    min_top1_agreement: float | None = None
    """Fraction of tokens where both models find the same token most likely."""
    max_perplexity_increase: float | None = None
    """Fraction: 0.01 allows 1 % more than the reference."""

    @classmethod
    def decode(cls, parameters: Mapping[str, Any]) -> Thresholds:
        """Raise `InputError` with every problem of the parameters."""
        known = [field.name for field in fields(cls)]
        problems = []
        for name, value in sorted(parameters.items()):
            if name not in known:
                valid = "one of " + ", ".join(known)
                problems.append(Problem("unknown threshold", name, valid, name))
            elif value is not None and not _is_bound(name, value):
                valid = (
                    "-1 to 1" if "cosine" in name else "0 to 1" if "top1" in name else "0 or more"
                )
                problems.append(Problem("threshold out of range", name, valid, str(value)))
        raise_if_any(problems)
        return cls(**parameters)


def _is_bound(name: str, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    low, high = -1.0 if "cosine" in name else 0.0, 1.0 if name.startswith("min_") else math.inf
    return low <= value <= high


_MEASURES = {
    "min_cosine_similarity": "mean_cosine_similarity",
    "min_worst_cosine_similarity": "worst_cosine_similarity",
    "max_absolute_error": "max_absolute_error",
    "min_top1_agreement": "top1_agreement",
    "max_perplexity_increase": "perplexity_increase",
}
_NON_FINITE = ("nan_count", "inf_count", "reference_nonfinite_count")


@dataclass(frozen=True)
class Verdict:
    measure: str
    """Name of a number in the measurements' total."""
    measured: float | None
    """`None` when nothing was measured, which misses every bound."""
    bound: float
    is_minimum: bool

    @property
    def passed(self) -> bool:
        if self.measured is None:
            return False
        return self.measured >= self.bound if self.is_minimum else self.measured <= self.bound

    @property
    def relation(self) -> str:
        return ">=" if self.is_minimum else "<="

    def to_json(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "measured": self.measured,
            "bound": self.bound,
            "relation": self.relation,
            "passed": self.passed,
        }

    def problem(self) -> Problem:
        return Problem(
            f"`{self.measure}` missed its bound",
            "measurements, total",
            f"{self.relation} {self.bound:.9g}",
            "not measured" if self.measured is None else f"{self.measured:.9g}",
        )


def judge(measurements: Mapping[str, Any], thresholds: Thresholds) -> tuple[Verdict, ...]:
    """A verdict for each count of NaN and infinities (bound 0), then for each given threshold."""
    total = measurements["total"]
    verdicts = [Verdict(name, total.get(name), 0, is_minimum=False) for name in _NON_FINITE]
    for threshold, measure in _MEASURES.items():
        bound = getattr(thresholds, threshold)
        if bound is not None:
            is_minimum = threshold.startswith("min_")
            verdicts.append(Verdict(measure, total.get(measure), bound, is_minimum))
    return tuple(verdicts)
