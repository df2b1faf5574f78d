"""Numbers that say how close two arrays are, added up over many of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


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
    top1_matches: int = 0
    nan_count: int = 0
    inf_count: int = 0
    reference_nonfinite_count: int = 0
    predictions: int = 0
    reference_loss: float = 0.0
    loss: float = 0.0

    def add(self, reference: Array, candidate: Array) -> None:
        """Both [rows, width]."""
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
        error = np.abs(reference.astype(np.float64) - candidate.astype(np.float64)).max()
        self.max_absolute_error = max(self.max_absolute_error, float(error))
        self.top1_matches += int((reference.argmax(axis=-1) == candidate.argmax(axis=-1)).sum())

    def add_predictions(self, reference: Array, candidate: Array, targets: Array) -> None:
        """Logits [tokens, vocabulary] of both, and the token that really followed each."""
        finite = np.isfinite(reference).all(axis=-1) & np.isfinite(candidate).all(axis=-1)
        if not finite.any():
            return
        targets = targets[finite]
        self.predictions += len(targets)
        self.reference_loss += float(negative_log_likelihood(reference[finite], targets).sum())
        self.loss += float(negative_log_likelihood(candidate[finite], targets).sum())

    def merge(self, other: Comparison, *, with_predictions: bool = True) -> None:
        """Add the rows of `other`; its predictions, which make the perplexity, only on request."""
        predictions = ("predictions", "reference_loss", "loss") if with_predictions else ()
        for name in (
            "rows", "finite_rows", "cosine_sum", "top1_matches", "nan_count", "inf_count",
            "reference_nonfinite_count", *predictions,
        ):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.worst_cosine = min(self.worst_cosine, other.worst_cosine)
        self.max_absolute_error = max(self.max_absolute_error, other.max_absolute_error)

    def worst_cosine_or_none(self) -> float | None:
        return self.worst_cosine if self.finite_rows else None

    def to_json(self, *, top1: bool = True) -> dict[str, float | int | None]:
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
        }
        if top1:
            numbers["top1_agreement"] = self.top1_matches / self.finite_rows if some else None
        if self.predictions:
            reference = _perplexity(self.reference_loss / self.predictions)
            perplexity = _perplexity(self.loss / self.predictions)
            numbers["reference_perplexity"], numbers["perplexity"] = reference, perplexity
            numbers["perplexity_increase"] = perplexity / reference - 1.0
        return numbers


def _perplexity(mean_loss: float) -> float:
    # A mean loss above 700 nats overflows a float; no text model is that bad by accident.
    return math.exp(min(mean_loss, 700.0))
