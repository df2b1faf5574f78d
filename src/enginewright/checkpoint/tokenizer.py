"""Checks of tokenizer files that need no tokenizer library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.checkpoint.file_start import LFS_PREFIX
from enginewright.errors import InputError, Problem


def tokenizer_problems(path: Path) -> list[Problem]:
    """What is wrong with one file of a tokenizer: a Git LFS pointer, or JSON that is none."""
    with path.open("rb") as stream:
        if stream.read(len(LFS_PREFIX)) == LFS_PREFIX:
            fix = "run `git lfs pull`, or download the file itself"
            return [Problem("the file is a Git LFS pointer, not a tokenizer", str(path), fix=fix)]
    if path.suffix != ".json":
        return []
    try:
        document = canonical_json.read_object(path)
    except InputError as error:
        return list(error.problems)
    if path.name == "tokenizer.json" and not isinstance(document.get("model"), dict):
        actual = type(document.get("model")).__name__
        place = f"{path}, `model`"
        return [Problem("not a tokenizer of the tokenizers library", place, "an object", actual)]
    return []


def vocabulary_warnings(path: Path, vocab_size: int) -> list[str]:
    """Token ids of a checked `tokenizer.json` that the embedding of the model does not have."""
    if path.name != "tokenizer.json":
        return []
    largest = max(_token_ids(canonical_json.read_object(path)), default=-1)
    if largest < vocab_size:
        return []
    return [
        f"{path.name} has token ids up to {largest}, "
        f"the model's vocabulary ends at {vocab_size - 1}"
    ]


def _token_ids(document: dict[str, Any]) -> Iterator[int]:
    vocabulary = document["model"].get("vocab")
    if isinstance(vocabulary, dict):
        yield from (token for token in vocabulary.values() if isinstance(token, int))
    elif isinstance(vocabulary, list):  # Unigram: [[piece, score], ...]
        yield len(vocabulary) - 1
    for token in document.get("added_tokens") or []:
        if isinstance(token, dict) and isinstance(token.get("id"), int):
            yield token["id"]
