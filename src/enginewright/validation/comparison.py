"""Numbers that say how close two arrays are, added up over many of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from enginewright.errors import InputError, Problem

Array = npt.NDArray[Any]
_ROWS = 64
"""A vocabulary in float64 is a megabyte a row."""


def cosine_similarity(first: Array, second: Array) -> Array:
    """Row by row over the last axis, in float64; 1 where both rows are zero, 0 where one is."""
    a, b = first.astype(np.float64), second.astype(np.float64)
    # Scaled first: the square of a large half-precision logit must not overflow or vanish.
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = a / np.abs(a).max(axis=-1, keepdims=True), b / np.abs(b).max(axis=-1, keepdims=True)
        norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
        cosine = np.einsum("...i,...i->...", a, b) / norms
    zero_a, zero_b = ~first.any(axis=-1), ~second.any(axis=-1)
    cosine = np.where(zero_a | zero_b, np.where(zero_a & zero_b, 1.0, 0.0), cosine)
    return np.asarray(np.minimum(cosine, 1.0))


def negative_log_likelihood(logits: Array, targets: Array) -> Array:
    """Of each target under softmax of its row, in float64 (log-sum-exp form).

    logits [tokens, vocabulary], targets int64 [tokens] -> [tokens], in nats.
    """
    wide = logits.astype(np.float64)
    top = wide.max(axis=-1)
    log_sum = top + np.log(np.exp(wide - top[:, None]).sum(axis=-1))
    return np.asarray(log_sum - wide[np.arange(len(targets)), targets])


@dataclass
class Comparison:
    """Sums over rows (a token's logits, or a sentence's embedding) of a reference and a candidate.

    Rows with NaN or an infinity on either side are counted, and take no part in the other numbers.
    """

    rows: int = 0
    finite_rows: int = 0
    cosine_sum: float = 0.0
    worst_cosine: float = math.inf
    max_absolute_error: float = 0.0
    squared_error: float = 0.0
    squared_reference: float = 0.0
    max_reference: float = 0.0
    """Greatest magnitude of the reference: what an error is large or small beside."""
    top1_rows: int = 0
    """Rows, or sentences, whose first choice was compared."""
    top1_matches: int = 0
    nan_count: int = 0
    inf_count: int = 0
    reference_nonfinite_count: int = 0
    predictions: int = 0
    reference_loss: float = 0.0
    loss: float = 0.0

    def add(self, reference: Array, candidate: Array) -> None:
        """Both [rows, width]; a few rows at a time, for they become float64."""
        if reference.shape != candidate.shape:
            raise InputError(
                Problem(
                    "the engine's output has another shape than its reference's",
                    "rows, and numbers in each",
                    str(list(reference.shape)),
                    str(list(candidate.shape)),
                    "check that the engine and `reference` are of one model",
                )
            )
        for begin in range(0, len(reference), _ROWS):
            part = slice(begin, begin + _ROWS)
            self._add(reference[part], candidate[part])

    def _add(self, reference: Array, candidate: Array) -> None:
        self.rows += len(reference)
        self.nan_count += int(np.isnan(candidate).sum())
        self.inf_count += int(np.isinf(candidate).sum())
        self.reference_nonfinite_count += int((~np.isfinite(reference)).sum())
        finite = np.isfinite(reference).all(axis=-1) & np.isfinite(candidate).all(axis=-1)
        reference, candidate = reference[finite], candidate[finite]
        if not len(reference):
            return
        cosine = cosine_similarity(reference, candidate)
        self.finite_rows += len(reference)
        self.cosine_sum += float(cosine.sum())
        self.worst_cosine = min(self.worst_cosine, float(cosine.min()))
        wide = reference.astype(np.float64)
        error = np.abs(wide - candidate.astype(np.float64))
        self.max_absolute_error = max(self.max_absolute_error, float(error.max()))
        self.squared_error += float(np.square(error).sum())
        self.squared_reference += float(np.square(wide).sum())
        self.max_reference = max(self.max_reference, float(np.abs(reference).max()))

    def add_predictions(self, reference: Array, candidate: Array, targets: Array) -> None:
        """Logits [tokens, vocabulary] of both, and the token that really followed each."""
        for begin in range(0, len(reference), _ROWS):
            part = slice(begin, begin + _ROWS)
            self._add_predictions(reference[part], candidate[part], targets[part])

    def _add_predictions(self, reference: Array, candidate: Array, targets: Array) -> None:
        finite = np.isfinite(reference).all(axis=-1) & np.isfinite(candidate).all(axis=-1)
        if not finite.any():
            return
        targets = targets[finite]
        matches = reference[finite].argmax(axis=-1) == candidate[finite].argmax(axis=-1)
        self.top1_rows += len(matches)
        self.top1_matches += int(matches.sum())
        self.predictions += len(targets)
        self.reference_loss += float(negative_log_likelihood(reference[finite], targets).sum())
        self.loss += float(negative_log_likelihood(candidate[finite], targets).sum())

    def add_choices(self, reference: Array, candidate: Array) -> None:
        """What both choose, as numbers [rows]: of a sentence, the one that is nearest."""
        if reference.shape == candidate.shape:
            self.top1_rows += len(reference)
            self.top1_matches += int((reference == candidate).sum())

    def merge(self, other: Comparison, *, with_predictions: bool = True) -> None:
        """Add the rows of `other`; its predictions, which make the perplexity, only on request."""
        predictions = ("predictions", "reference_loss", "loss") if with_predictions else ()
        for name in (
            "rows", "finite_rows", "cosine_sum", "top1_matches", "top1_rows", "nan_count",
            "inf_count", "reference_nonfinite_count", "squared_error", "squared_reference",
            *predictions,
        ):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.worst_cosine = min(self.worst_cosine, other.worst_cosine)
        self.max_absolute_error = max(self.max_absolute_error, other.max_absolute_error)
        self.max_reference = max(self.max_reference, other.max_reference)

    @property
    def max_relative_error(self) -> float | None:
        """Greatest error by the greatest magnitude of the reference; None where that is 0."""
        if not self.finite_rows or not self.max_reference:
            return None
        return self.max_absolute_error / self.max_reference

    @property
    def relative_error(self) -> float | None:
        """Norm of the error by the norm of the reference, over all rows; None where that is 0."""
        if not self.squared_reference:
            return None
        return math.sqrt(self.squared_error / self.squared_reference)

    def worst_cosine_or_none(self) -> float | None:
        return self.worst_cosine if self.finite_rows else None

    def to_json(self) -> dict[str, float | int | None]:
        """`None` where no row was finite; perplexity is exp(mean loss), only with predictions."""
        some = self.finite_rows > 0
        numbers: dict[str, float | int | None] = {
            "rows": self.rows,
            "nan_count": self.nan_count,
            "inf_count": self.inf_count,
            "reference_nonfinite_count": self.reference_nonfinite_count,
            "mean_cosine_similarity": self.cosine_sum / self.finite_rows if some else None,
            "worst_cosine_similarity": self.worst_cosine_or_none(),
            "max_absolute_error": self.max_absolute_error if some else None,
            "max_relative_error": self.max_relative_error,
            "relative_error": self.relative_error,
        }
        if self.top1_rows:
            numbers["top1_agreement"] = self.top1_matches / self.top1_rows
        if self.predictions:
            reference = _perplexity(self.reference_loss / self.predictions)
            perplexity = _perplexity(self.loss / self.predictions)
            numbers["reference_perplexity"], numbers["perplexity"] = reference, perplexity
            numbers["perplexity_increase"] = perplexity / reference - 1.0
        return numbers


def _perplexity(mean_loss: float) -> float:
    # A mean loss above 700 nats overflows a float; no text model is that bad by accident.
    return math.exp(min(mean_loss, 700.0))
