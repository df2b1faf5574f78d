"""Numbers against bounds, and against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from enginewright.document import decode
from enginewright.errors import Problem
from enginewright.schema import between

Cosine = Annotated[float, between(-1, 1)]
Fraction = Annotated[float, between(0, 1)]
Positive = Annotated[float, between(0, 1e300)]


@dataclass(frozen=True)
class Thresholds:
    """Bounds that somebody set; for `None` there may be one of `DEFAULTS`."""

    min_cosine_similarity: Cosine | None = None
    """For the mean over all tokens or sentences."""
    min_worst_cosine_similarity: Cosine | None = None
    """For the worst token or sentence."""
    max_absolute_error: Positive | None = None
    max_relative_error: Positive | None = None
    """Greatest error by the greatest magnitude of the reference."""
    min_top1_agreement: Fraction | None = None
    """Fraction of tokens where both models find the same token most likely, or of sentences where
    both find the same other sentence nearest."""
    max_perplexity_increase: Positive | None = None
    """Fraction: 0.01 allows 1 % more than the reference."""

    @classmethod
    def decode(cls, parameters: Mapping[str, Any]) -> Thresholds:
        """Raise `InputError` with every problem of the parameters."""
        return decode(cls, parameters, "parameters")


DEFAULTS: Mapping[str, float] = {
    "max_perplexity_increase": 0.1,
    "max_relative_error": 0.1,
    "min_top1_agreement": 0.9,
}
"""Companions of a bound that cannot see each kind of fault: a cosine stays near 1 where one logit
in a thousand decides otherwise. Each is for the measurements that have its number."""

_MEASURES = {
    "min_cosine_similarity": "mean_cosine_similarity",
    "min_worst_cosine_similarity": "worst_cosine_similarity",
    "max_absolute_error": "max_absolute_error",
    "max_relative_error": "max_relative_error",
    "min_top1_agreement": "top1_agreement",
    "max_perplexity_increase": "perplexity_increase",
}
_NON_FINITE = ("nan_count", "inf_count", "reference_nonfinite_count")
_OF_MANY_ROWS = ("top1_agreement", "perplexity_increase")
ROWS = 64
"""Fewer rows say little of a fraction of them: one run with fewer is judged in the total only."""


@dataclass(frozen=True)
class Verdict:
    measure: str
    """Name of a number in the measurements."""
    measured: float | None
    """`None` when nothing was measured, which misses every bound."""
    bound: float
    is_minimum: bool
    where: str = "total"
    """The run whose number is the worst, or `total`."""
    is_default: bool = False
    """Whether nobody set the bound."""

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
            "where": self.where,
            "is_default": self.is_default,
            "passed": self.passed,
        }

    def problem(self) -> Problem:
        kind = ", the default" if self.is_default else ""
        return Problem(
            f"`{self.measure}` missed its bound",
            f"measurements, {self.where}",
            f"{self.relation} {self.bound:.9g}{kind}",
            "not measured" if self.measured is None else f"{self.measured:.9g}",
        )


def judge(measurements: Mapping[str, Any], thresholds: Thresholds) -> tuple[Verdict, ...]:
    """A verdict for each count of NaN and infinities (bound 0), then for each bound.

    A bound holds for the total and for each run: a few broken rows are lost in a mean of many.
    """
    total = measurements["total"]
    verdicts = [Verdict(name, total.get(name), 0, is_minimum=False) for name in _NON_FINITE]
    for name in (field.name for field in fields(thresholds)):
        measure, bound = _MEASURES[name], getattr(thresholds, name)
        is_default = bound is None
        if is_default:
            bound = DEFAULTS.get(name) if measure in total else None
        if bound is not None:
            is_minimum = name.startswith("min_")
            where, measured = _worst(measurements, measure, is_minimum)
            verdicts.append(Verdict(measure, measured, bound, is_minimum, where, is_default))
    return tuple(verdicts)


def _worst(
    measurements: Mapping[str, Any], measure: str, is_minimum: bool
) -> tuple[str, float | None]:
    found = [("total", measurements["total"].get(measure))]
    for number, run in enumerate(measurements["runs"], 1):
        counts = measure not in _OF_MANY_ROWS or run["rows"] >= ROWS
        if measure in run and counts:
            found.append((f"run {number}, {run['name']}", run[measure]))
    missing = [(where, value) for where, value in found if value is None]
    if missing:
        return missing[0]
    pick = min if is_minimum else max
    return pick(found, key=lambda item: item[1])


def contradictions(measurements: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Numbers of one run that cannot all be true of a sound engine, whatever its bounds are."""
    found: list[Problem] = []
    places = [(f"run {n}, {run['name']}", run) for n, run in enumerate(measurements["runs"], 1)]
    for where, numbers in [("total", measurements["total"]), *places]:
        if numbers["rows"] >= ROWS or where == "total":
            found += [
                Problem("the report contradicts itself", f"measurements, {where}", "", text, fix)
                for text, fix in _contradictions(numbers)
            ]
    return tuple(found)


ALIKE, UNLIKE = 0.99, 0.5
_BOTH = "see whether the engine's graph is this model's, and whether the logits are of its tokens"


def _contradictions(numbers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    cosine, top1 = numbers.get("mean_cosine_similarity"), numbers.get("top1_agreement")
    increase = numbers.get("perplexity_increase")
    if cosine is not None and cosine >= ALIKE and top1 is not None and top1 < UNLIKE:
        yield f"mean cosine {cosine:.6f}, yet top-1 agreement {top1:.4f}", _BOTH
    if increase is None:
        return
    is_alike = (cosine or 0.0) >= ALIKE or (top1 or 0.0) >= ALIKE
    if is_alike and increase > 1.0:
        agreement = f"mean cosine {cosine:.6f}, top-1 agreement {top1:.4f}"
        yield f"{agreement}, yet {increase + 1:.4g} times the reference's perplexity", _BOTH
    if increase < -UNLIKE:
        text = f"the engine's perplexity is {increase + 1:.4g} times the reference's"
        yield text, "see whether the engine sees tokens that it has to predict (its causal mask)"
