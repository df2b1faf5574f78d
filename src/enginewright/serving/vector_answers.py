"""Embeddings and rankings as documents."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def embeddings(model: str, vectors: Vectors, tokens: int, encoding: str) -> dict[str, Any]:
    """`vectors` float32 [texts, hidden]; `base64` is of the little-endian floats."""
    return {
        "object": "list",
        "model": model,
        "data": [
            {"object": "embedding", "index": index, "embedding": _encoded(vector, encoding)}
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _encoded(vector: Vectors, encoding: str) -> Any:
    if encoding == "float":
        return vector.tolist()
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")


def ranking(
    model: str, vectors: Vectors, tokens: int, texts: Sequence[str] | None, most: int | None
) -> dict[str, Any]:
    """Documents by the cosine of the angle to the query, whose vector is the first.

    As vLLM ranks with a model that embeds. `texts` are those of the documents, to be given back.
    """
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    units = vectors / lengths
    scores = units[1:] @ units[0]
    order = np.argsort(-scores, kind="stable")[:most]
    results = [
        {
            "index": int(index),
            **({"document": {"text": texts[index]}} if texts is not None else {}),
            "relevance_score": float(scores[index]),
        }
        for index in order
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"id": f"rerank-{uuid.uuid4().hex}", "model": model, "usage": usage, "results": results}
