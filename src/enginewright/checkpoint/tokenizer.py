"""Checks of tokenizer files that need no tokenizer library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.checkpoint.file_start import LFS_PREFIX
from enginewright.checkpoint.recipe_files import LISTS, TOKENIZER
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
        if path.name in LISTS:
            canonical_json.read_list(path)
            return []
        document = canonical_json.read_object(path)
    except InputError as error:
        return list(error.problems)
    if path.name == TOKENIZER and not isinstance(document.get("model"), dict):
        actual = type(document.get("model")).__name__
        place = f"{path}, `model`"
        return [Problem("not a tokenizer of the tokenizers library", place, "an object", actual)]
    return []


@dataclass(frozen=True)
class Vocabulary:
    largest: int
    """The largest token id, -1 for a tokenizer without tokens."""
    text: str
    """Of the token with the largest id, where the file tells."""

    def warnings(self, vocab_size: int) -> list[str]:
        """Token ids that a model with `vocab_size` rows of embedding does not have."""
        if self.largest < vocab_size:
            return []
        named = f" (`{self.text}`)" if self.text else ""
        return [
            f"{TOKENIZER} has token ids up to {self.largest}{named}, the model's vocabulary ends "
            f"at {vocab_size - 1}: a text with such a token is refused"
        ]


def read_vocabulary(path: Path) -> Vocabulary:
    """Of a checked `tokenizer.json`."""
    ids = _tokens(canonical_json.read_object(path))
    largest, text = max(ids, default=(-1, ""))
    return Vocabulary(largest, text[:80])


def _tokens(document: dict[str, Any]) -> Iterator[tuple[int, str]]:
    vocabulary = document["model"].get("vocab")
    if isinstance(vocabulary, dict):
        yield from ((i, text) for text, i in vocabulary.items() if isinstance(i, int))
    elif isinstance(vocabulary, list) and vocabulary:  # Unigram: [[piece, score], ...]
        yield len(vocabulary) - 1, ""
    for token in document.get("added_tokens") or []:
        if isinstance(token, dict) and isinstance(token.get("id"), int):
            yield token["id"], str(token.get("content") or "")
