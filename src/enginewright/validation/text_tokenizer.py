"""The tokenizer of a checkpoint, from its `tokenizer.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers

from enginewright.errors import InputError, Problem


@dataclass(frozen=True)
class TextTokenizer:
    tokenizer: Any

    @classmethod
    def load(cls, files: Sequence[Path]) -> TextTokenizer:
        """Raise `InputError` when there is no `tokenizer.json` or it is not one."""
        paths = [path for path in files if path.name == "tokenizer.json"]
        if not paths:
            names = ", ".join(path.name for path in files) or "no files"
            fix = "name it in the field `tokenizer` of the checkpoint"
            raise InputError(
                Problem("no tokenizer", "input `tokenizer`", "tokenizer.json", names, fix)
            )
        try:
            tokenizer = tokenizers.Tokenizer.from_str(paths[0].read_text(encoding="utf-8"))
        except Exception as error:  # the library raises plain `Exception`
            what = "not a tokenizer of the `tokenizers` library"
            raise InputError(Problem(what, str(paths[0]), actual=str(error))) from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(tokenizer)

    def encode_text(self, text: str) -> list[int]:
        """The whole text, without special tokens."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def encode_sentence(self, text: str, longest: int) -> list[int]:
        """With special tokens, cut to `longest` tokens."""
        self.tokenizer.enable_truncation(longest)
        ids = list(self.tokenizer.encode(text).ids)
        self.tokenizer.no_truncation()
        return ids
