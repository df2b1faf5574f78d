"""Measure a feature extractor: the embedding of each sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from enginewright import progress
from enginewright.validation import held_out_text
from enginewright.validation.comparison import Array, Comparison
from enginewright.validation.language_model import Window, pad
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.onnx_model import OnnxModel
from enginewright.validation.reference_model import ReferenceModel

Encode = Callable[[str], Sequence[int]]
"""Text -> token ids, with the special tokens of the model, at most `max_sequence` of them."""


def measure(
    model: OnnxModel,
    reference: ReferenceModel,
    text: str,
    encode: Encode,
    request: MeasurementRequest,
) -> dict[str, Any]:
    """Each sentence alone, in padded batches of each size, and windows of each length.

    Batches of sentences are compared with the reference's result for the sentence alone.
    """
    lines = held_out_text.sentences(text, request.sentences)
    sentences = [tuple(encode(line)) for line in lines]
    total = Comparison()
    progress.report("Measuring", f"{len(sentences)} sentences")
    expected = [_reference(reference, sentence, request) for sentence in sentences]
    alone = [_embeddings(model, [sentence], expected[0])[0] for sentence in sentences]
    runs: list[dict[str, Any]] = []

    def record(comparison: Comparison, **description: Any) -> None:
        runs.append({**description, **comparison.to_json(top1=False)})
        total.merge(comparison)

    record(_compare(expected, alone), batch_size=1, padding="none", sequence_length=None)
    padding = Comparison()
    for size in request.batch_sizes:
        if size > 1:
            batched = list(_batched(model, sentences, size, expected[0]))
            record(
                _compare(expected, batched), batch_size=size, padding="right", sequence_length=None
            )
            padding.merge(_compare(alone, batched))
    tokens = [token for sentence in sentences for token in sentence]
    for length in request.sequence_lengths:
        progress.report("Measuring", f"{length} tokens")
        windows = held_out_text.windows(tokens, length, min(request.windows, len(tokens)))
        wanted = [_reference(reference, window, request) for window in windows]
        given = [_embeddings(model, [window], wanted[0])[0] for window in windows]
        record(_compare(wanted, given), batch_size=1, padding="none", sequence_length=length)
    numbers = {
        "runs": runs,
        "total": total.to_json(top1=False),
        "sentences": _by_sentence(expected, alone),
    }
    if padding.rows:
        numbers["padding"] = padding.to_json(top1=False)
    return numbers


def _by_sentence(expected: Sequence[Array], actual: Sequence[Array]) -> list[dict[str, Any]]:
    return [
        {"sentence": number, "cosine_similarity": _compare([a], [b]).worst_cosine_or_none()}
        for number, (a, b) in enumerate(zip(expected, actual, strict=True), 1)
    ]


def _reference(reference: ReferenceModel, sentence: Window, request: MeasurementRequest) -> Array:
    ids = np.array([sentence], np.int64)
    return reference.embedding(ids, request.pooling, request.normalize)


def _embeddings(model: OnnxModel, sentences: Sequence[Window], like: Array) -> list[Array]:
    """Embedding [width] of each sentence, or its token states [tokens, width], as `like` is."""
    outputs = model.run(*pad(sentences))
    values = outputs[model.output_names[0]]
    if like.ndim == 2:
        return [row[: len(sentence)] for row, sentence in zip(values, sentences, strict=True)]
    return list(values)


def _batched(
    model: OnnxModel, sentences: Sequence[Window], size: int, like: Array
) -> Iterator[Array]:
    for first in range(0, len(sentences), size):
        yield from _embeddings(model, sentences[first : first + size], like)


def _compare(expected: Sequence[Array], actual: Sequence[Array]) -> Comparison:
    comparison = Comparison()
    for reference, candidate in zip(expected, actual, strict=True):
        comparison.add(np.atleast_2d(reference), np.atleast_2d(candidate))
    return comparison
