"""What a task's room has for serving: the module `service`, whose `open_service` gives this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from enginewright.serving.ask import Answer, Ask

Job = Any
"""What a service makes of an ask: checked, and in tokens."""


@dataclass(frozen=True)
class Capacity:
    slots: int = 32
    """Texts that are computed at once, at most."""
    batch_tokens: int = 2048
    """Tokens of one call of the engine, padding included, unless a single text has more."""


class Service(Protocol):
    asks: tuple[type[Ask], ...]
    """Those that it answers."""
    slots: int

    def prepare(self, ask: Ask) -> Job:
        """Check and tokenize; may run beside `advance`, in another thread.

        Raises `InputError` for what the engine cannot do.
        """

    def submit(self, number: int, job: Job) -> None:
        """Take a job in; it waits for its turn."""

    def cancel(self, number: int) -> None:
        """Forget a job and free its place; one that has ended is no fault."""

    def advance(self) -> Sequence[tuple[int, Answer]]:
        """Compute one round; returns what came of it, by the numbers of the jobs."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is computed."""

    def test(self) -> None:
        """Compute a little, alone and in company; raise `InputError` where the two differ."""
