"""Turns a stream of tokens into a stream of text that ends before a stop text."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream


class TextStream:
    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        self._decoder = DecodeStream(skip_special_tokens=True)
        self._stop = tuple(text for text in stop if text)
        self._waiting = ""
        self.stopped = False
        """Whether a stop text came."""

    def add(self, token: int) -> str:
        """The text that is certain after `token`; what may begin a stop text waits."""
        # None while the token ends inside a character.
        self._waiting += self._decoder.step(self._tokenizer, token) or ""
        found = [self._waiting.find(text) for text in self._stop if text in self._waiting]
        if found:
            self.stopped = True
            return self._take(min(found))
        return self._take(len(self._waiting) - self._overlap())

    def finish(self) -> str:
        """The rest, when no more tokens come."""
        return "" if self.stopped else self._take(len(self._waiting))

    def _take(self, length: int) -> str:
        text, self._waiting = self._waiting[:length], self._waiting[length:]
        return text

    def _overlap(self) -> int:
        """Length of the longest end of the waiting text that begins a stop text."""
        return max(
            (
                size
                for text in self._stop
                for size in range(1, len(text))
                if self._waiting.endswith(text[:size])
            ),
            default=0,
        )
