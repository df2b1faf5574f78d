"""How many requests are in the server, and whether it takes one more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from enginewright.serving.api_error import ApiError, stopping, too_many


class Admission:
    def __init__(self, most: int) -> None:
        self._most = most
        self._inside = 0
        self._is_closed = False

    def close(self) -> None:
        """Take nothing more; what is inside stays."""
        self._is_closed = True

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def inside(self) -> int:
        return self._inside

    @contextlib.contextmanager
    def enter(self, count: int) -> Iterator[None]:
        """Hold `count` places; raises `ApiError` where there are not so many."""
        if self._is_closed:
            raise stopping()
        if count > self._most:
            message = f"more prompts than the server ever takes at once, {self._most}: {count}"
            raise ApiError(400, message)
        if self._inside + count > self._most:
            raise too_many(self._most)
        self._inside += count
        try:
            yield
        finally:
            self._inside -= count
