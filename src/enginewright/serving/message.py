"""What the server and a worker say to each other."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.errors import Problem
from enginewright.serving.ask import Answer, Ask


@dataclass(frozen=True)
class Submit:
    number: int
    """The server's; answers carry it."""
    ask: Ask


@dataclass(frozen=True)
class Cancel:
    """Nobody waits for the answers any more."""

    number: int


@dataclass(frozen=True)
class EngineFacts:
    """What a worker says of its engine once that is warm and tested."""

    name: str
    task: str
    asks: tuple[str, ...]
    """Names of the classes that it answers."""
    digest: str
    """sha256 of engine.json, which has those of all other files."""
    slots: int
    """Texts that are computed at once."""
    total_sequence: int | None
    """Tokens of a text, prompt included; None where the engine sets no limit."""
    seconds: float
    """From start to here."""


@dataclass(frozen=True)
class Ready:
    facts: EngineFacts


@dataclass(frozen=True)
class Failed:
    """The engine cannot be served."""

    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Answers:
    """What one round of computing gave: number of the ask, and the answer."""

    answers: tuple[tuple[int, Answer], ...]


FromServer = Submit | Cancel
FromWorker = Ready | Failed | Answers
