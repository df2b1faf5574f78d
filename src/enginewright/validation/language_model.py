"""Measure a causal language model: logits of each token, and perplexity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from enginewright import progress
from enginewright.validation import held_out_text
from enginewright.validation.comparison import Array, Comparison
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.onnx_model import OnnxModel
from enginewright.validation.reference_model import ReferenceModel

Window = tuple[int, ...]
_PAD = 0


def pad(windows: Sequence[Window]) -> tuple[Array, Array]:
    """Right-padded input_ids and attention_mask, int64 [batch, longest]."""
    longest = max(len(window) for window in windows)
    ids = np.full((len(windows), longest), _PAD, np.int64)
    mask = np.zeros((len(windows), longest), np.int64)
    for row, window in enumerate(windows):
        ids[row, : len(window)] = window
        mask[row, : len(window)] = 1
    return ids, mask


def shorten(windows: Sequence[Window]) -> tuple[Window, ...]:
    """Windows of different lengths: the first whole, each next a quarter shorter, at least 2."""
    return tuple(
        window[: max(2, len(window) - len(window) * (row % 4) // 4)]
        for row, window in enumerate(windows)
    )


def measure(
    model: OnnxModel, reference: ReferenceModel, tokens: Sequence[int], request: MeasurementRequest
) -> dict[str, Any]:
    """Runs for each sequence length and batch size, one padded batch a length, and their total.

    The total's perplexity is over the unpadded runs.
    """
    total = Comparison()
    runs = []
    for length in request.sequence_lengths:
        progress.report("Measuring", f"{length} tokens")
        windows = held_out_text.windows(tokens, length, request.windows)
        for description, comparison in _runs(model, reference, windows, request):
            runs.append({**description, **comparison.to_json()})
            if description["padded"] or description["with_past"]:
                comparison.predictions = 0
                comparison.reference_loss = comparison.loss = 0.0
            total.merge(comparison)
    return {"runs": runs, "total": total.to_json()}


def _runs(
    model: OnnxModel,
    reference: ReferenceModel,
    windows: tuple[Window, ...],
    request: MeasurementRequest,
) -> Iterator[tuple[dict[str, Any], Comparison]]:
    largest = max(request.batch_sizes)
    by_size = {size: Comparison() for size in request.batch_sizes}
    padded, split = Comparison(), Comparison()
    # Logits are large (a vocabulary a token), so only those of one group are kept.
    for start in range(0, len(windows), largest):
        group = windows[start : start + largest]
        expected = [reference.logits(np.array([window], np.int64))[0] for window in group]
        for size, comparison in by_size.items():
            for first in range(0, len(group), size):
                part = slice(first, first + size)
                _compare(model, group[part], expected[part], comparison)
        # Causal: what follows a token, padding too, must not change its logits.
        _compare(model, shorten(group), expected, padded)
        if has_past(model):
            _compare_with_past(model, group, expected, split)
    length = len(windows[0])
    for size, comparison in by_size.items():
        yield _description(length, size), comparison
    yield _description(length, largest, padded=True), padded
    if has_past(model):
        yield _description(length, largest, with_past=True), split


def _description(length: int, size: int, **kind: bool) -> dict[str, Any]:
    flags = {"padded": False, "with_past": False, **kind}
    return {"sequence_length": length, "batch_size": size, **flags}


def has_past(model: OnnxModel) -> bool:
    return any(name.startswith("past_key_values.") for name in model.input_names)


def _compare(
    model: OnnxModel, windows: Sequence[Window], expected: Sequence[Array], comparison: Comparison
) -> None:
    ids, mask = pad(windows)
    logits = logits_of(model, model.run(ids, mask))
    for window, reference, candidate in zip(windows, expected, logits, strict=True):
        _add(window, reference[: len(window)], candidate[: len(window)], comparison)


def _compare_with_past(
    model: OnnxModel, windows: Sequence[Window], expected: Sequence[Array], comparison: Comparison
) -> None:
    """Feed the first half, then the second half with the keys and values of the first."""
    ids, mask = pad(windows)
    half = ids.shape[1] // 2
    first = model.run(ids[:, :half], mask[:, :half])
    past = {
        name.replace("present.", "past_key_values.", 1): value
        for name, value in first.items()
        if name.startswith("present.")
    }
    second = model.run(ids[:, half:], mask, past)
    logits = np.concatenate([logits_of(model, first), logits_of(model, second)], axis=1)
    for window, reference, candidate in zip(windows, expected, logits, strict=True):
        _add(window, reference, candidate, comparison)


def logits_of(model: OnnxModel, outputs: dict[str, Array]) -> Array:
    """The output `logits`, or the first one: [batch, sequence, vocabulary]."""
    return outputs["logits"] if "logits" in outputs else outputs[model.output_names[0]]


def _add(window: Window, reference: Array, candidate: Array, comparison: Comparison) -> None:
    comparison.add(reference, candidate)
    targets = np.array(window[1:], np.int64)
    comparison.add_predictions(reference[:-1], candidate[:-1], targets)
