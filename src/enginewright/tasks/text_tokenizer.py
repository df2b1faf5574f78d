"""The tokenizer of a checkpoint or an engine package, from its `tokenizer.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers

from enginewright.errors import InputError, Problem, raise_if_any


@dataclass(frozen=True)
class TextTokenizer:
    tokenizer: Any
    """Of the `tokenizers` library."""
    where: str

    @classmethod
    def load(cls, files: Mapping[str, Path], where: str) -> TextTokenizer:
        """From `tokenizer.json` of `files`, which are by their paths at `where`.

        Raise `InputError` when it is not there or not a tokenizer.
        """
        path = files.get("tokenizer.json")
        if path is None:
            names = ", ".join(sorted(files)) or "no files"
            fix = "name it in the field `tokenizer` of the checkpoint, and package again"
            raise InputError(Problem("no tokenizer", where, "tokenizer.json", names, fix))
        try:
            tokenizer = tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except Exception as error:  # the library raises plain `Exception`
            what = "not a tokenizer of the `tokenizers` library"
            raise InputError(Problem(what, str(path), actual=str(error))) from error
        # Length and padding are ours: a stored setting would cut texts silently.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(tokenizer, where)

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """Ids of the whole text, with the special tokens that the tokenizer adds or without."""
        return list(self.tokenizer.encode(text, add_special_tokens=special).ids)

    def check_same(self, text: str, ids: Sequence[int], *, special: bool = True) -> None:
        """Raise `InputError` unless this tokenizer reads the text as these ids."""
        self.check_equal(self.encode(text, special=special), ids)

    def check_equal(self, own: Sequence[int], ids: Sequence[int]) -> None:
        """Raise `InputError` unless what this tokenizer reads, `own`, is what the engine's does."""
        own = list(own)
        if own == list(ids):
            return
        pairs = enumerate(zip(own, ids, strict=False))
        place = next((n for n, (a, b) in pairs if a != b), min(len(own), len(ids)))
        raise InputError(
            Problem(
                "engine and reference read the dataset as different tokens",
                f"from token {place + 1} on",
                f"{own[place : place + 5]} of {self.where}",
                f"{list(ids)[place : place + 5]} of the engine",
                "package the tokenizer of the reference",
            )
        )

    def check_vocabulary(self, ids: Sequence[int], size: int | None) -> None:
        """Raise `InputError` for ids that a model of `size` token ids does not have, each once."""
        beyond = sorted({token for token in ids if token >= size}) if size is not None else []
        fix = "take the tokenizer that the model was trained with, or leave the token out"
        raise_if_any(
            [
                Problem(
                    "a token is beyond the model's vocabulary",
                    f"token {self.tokenizer.id_to_token(token)!r} of {self.where}",
                    f"an id below {size}, the size of the vocabulary",
                    f"id {token}",
                    fix,
                )
                for token in beyond
            ]
        )
