"""What a client may ask of an engine, whatever its task; a task's `service.py` answers some.

Asks and answers travel between the server and its worker, two processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from enginewright.errors import Problem


@dataclass(frozen=True)
class Sampling:
    temperature: float = 0.0
    """0 takes the likeliest token."""
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Generate:
    """Text after a prompt."""

    prompt: str | tuple[int, ...]
    """A text, or token ids as they are."""
    max_tokens: int | None = None
    """None is up to what the engine takes."""
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    """The text ends before any of these."""
    ignore_end: bool = False
    """Whether tokens that end a text are like any others."""


@dataclass(frozen=True)
class Chat:
    """Text after a conversation, which the checkpoint's own template makes a prompt of."""

    messages: tuple[Mapping[str, Any], ...]
    after: Generate
    """How to go on; its prompt is not read."""


@dataclass(frozen=True)
class Embed:
    """One vector for each text."""

    texts: tuple[str | tuple[int, ...], ...]


Ask = Generate | Chat | Embed


@dataclass(frozen=True)
class Started:
    """The engine has begun with it, or with its first text."""

    prompt_tokens: int


@dataclass(frozen=True)
class Piece:
    """More of a generated text; `text` is empty where a token ends inside a character."""

    text: str
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Ended:
    """Nothing comes after it."""

    reason: str
    """`stop` or `length`."""


@dataclass(frozen=True)
class Embedded:
    """float32 [texts, hidden]. Nothing comes after it."""

    vectors: NDArray[Any]


@dataclass(frozen=True)
class Refused:
    """The engine cannot do that. Nothing comes after it."""

    problems: Sequence[Problem]
    is_defect: bool = False
    """Whether the fault is the server's and not the client's."""


Answer = Started | Piece | Ended | Embedded | Refused
EndOfAnswer = (Ended, Embedded, Refused)
