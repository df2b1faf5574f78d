"""Measure a causal language model: logits of each token, and perplexity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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


def pad(windows: Sequence[Window], side: str = "right") -> tuple[Array, Array]:
    """Padded input_ids and attention_mask, int64 [batch, longest]."""
    longest = max(len(window) for window in windows)
    ids = np.full((len(windows), longest), _PAD, np.int64)
    mask = np.zeros((len(windows), longest), np.int64)
    for row, window in enumerate(windows):
        place = _place(window, longest, side)
        ids[row, place] = window
        mask[row, place] = 1
    return ids, mask


def _place(window: Window, longest: int, side: str) -> slice:
    return slice(0, len(window)) if side == "right" else slice(longest - len(window), longest)


def shorten(windows: Sequence[Window]) -> tuple[Window, ...]:
    """Windows of different lengths: the first whole, each next a quarter shorter, at least 2."""
    return tuple(
        window[: max(2, len(window) - len(window) * (row % 4) // 4)]
        for row, window in enumerate(windows)
    )


def measure(
    model: OnnxModel, reference: ReferenceModel, tokens: Sequence[int], request: MeasurementRequest
) -> dict[str, Any]:
    """Runs for each sequence length and batch size, padded and with a cache, and their total.

    The total's perplexity is over the runs without padding and cache, which see the same text.
    """
    total = Comparison()
    runs = []
    for length in request.sequence_lengths:
        progress.report("Measuring", f"{length} tokens")
        # One token more: the one that follows the last of the window.
        windows = held_out_text.windows(tokens, length + 1, request.windows)
        for run in _runs(model, reference, windows, request):
            runs.append({**run.description(length), **run.comparison.to_json()})
            total.merge(run.comparison, with_predictions=run.padding == "none" and not run.split)
    return {"runs": runs, "total": total.to_json()}


@dataclass
class _Run:
    batch_size: int
    padding: str = "none"
    """`none`, or the side on which shorter windows are filled up."""
    split: bool = False
    """The second half of each window is fed with the keys and values of the first."""
    comparison: Comparison = field(default_factory=Comparison)

    def description(self, length: int) -> dict[str, Any]:
        return {
            "sequence_length": length,
            "batch_size": self.batch_size,
            "padding": self.padding,
            "with_past": self.split,
        }

    def add(self, model: OnnxModel, windows: Sequence[Window], expected: Sequence[Array]) -> None:
        """Windows have one token more than `expected` [sequence, vocabulary] has rows."""
        for first in range(0, len(windows), self.batch_size):
            part = slice(first, first + self.batch_size)
            self._add_batch(model, windows[part], expected[part])

    def _add_batch(
        self, model: OnnxModel, windows: Sequence[Window], expected: Sequence[Array]
    ) -> None:
        inputs: Sequence[Window] = [window[:-1] for window in windows]
        targets: Sequence[Window] = [window[1:] for window in windows]
        if self.padding != "none":
            inputs, targets = shorten(inputs), shorten(targets)
        side = "right" if self.padding == "none" else self.padding
        ids, mask = pad(inputs, side)
        logits = _run_split(model, ids, mask) if self.split else logits_of(model.run(ids, mask))
        for given, following, reference, candidate in zip(
            inputs, targets, expected, logits, strict=True
        ):
            rows = slice(None) if model.last_logits_only else _place(given, ids.shape[1], side)
            self._add_window(given, following, reference, candidate[rows])

    def _add_window(
        self, given: Window, following: Window, reference: Array, candidate: Array
    ) -> None:
        # A graph may give the logits of the last token only.
        shown = slice(len(given) - len(candidate), len(given))
        self.comparison.add(reference[shown], candidate)
        wanted = np.array(following[shown], np.int64)
        self.comparison.add_predictions(reference[shown], candidate, wanted)


def _runs(
    model: OnnxModel,
    reference: ReferenceModel,
    windows: tuple[Window, ...],
    request: MeasurementRequest,
) -> list[_Run]:
    largest = max(request.batch_sizes)
    runs = [_Run(size) for size in request.batch_sizes]
    runs += [_Run(largest, padding=side) for side in padding_sides(model)]
    if has_past(model):
        runs.append(_Run(largest, split=True))
    # Logits are large (a vocabulary a token), so only those of one group are kept.
    for start in range(0, len(windows), largest):
        group = windows[start : start + largest]
        expected = [reference.logits(np.array([window[:-1]], np.int64))[0] for window in group]
        for run in runs:
            run.add(model, group, expected)
    return runs


def has_past(model: OnnxModel) -> bool:
    return any(name.startswith("past_key_values.") for name in model.input_names)


def padding_sides(model: OnnxModel) -> tuple[str, ...]:
    """Where the model allows padding.

    On the right it needs nothing but causality: what follows a token must not change its logits;
    a graph that gives the last logits only cannot show that. On the left it needs a mask and
    positions.
    """
    sides = () if model.last_logits_only else ("right",)
    masked = {"attention_mask", "position_ids"} <= {*model.input_names}
    return (*sides, "left") if masked else sides


def _run_split(model: OnnxModel, ids: Array, mask: Array) -> Array:
    half = ids.shape[1] // 2
    first = model.run(ids[:, :half], mask[:, :half])
    past = {
        name.replace("present.", "past_key_values.", 1): value
        for name, value in first.items()
        if name.startswith("present.")
    }
    second = model.run(ids[:, half:], mask, past)
    if model.last_logits_only:
        return logits_of(second)
    return np.concatenate([logits_of(first), logits_of(second)], axis=1)


def logits_of(outputs: dict[str, Array]) -> Array:
    """The output `logits`, or the first one: [batch, sequence, vocabulary]."""
    return outputs.get("logits", next(iter(outputs.values())))
