"""A fact about a host: a value, or the reason why it is unknown. Unknown is never zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Fact(Generic[T]):
    """Either `value` is set, or `unknown` says why it is not."""

    value: T | None = None
    unknown: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.unknown):
            raise ValueError("a fact has a value, or a reason for having none")

    @property
    def known(self) -> bool:
        return self.value is not None

    def map(self, function: Callable[[T], U]) -> Fact[U]:
        """The function of the value; unknown stays unknown."""
        return Fact(unknown=self.unknown) if self.value is None else Fact(function(self.value))

    def __str__(self) -> str:
        return f"unknown ({self.unknown})" if self.value is None else str(self.value)


def known(value: T) -> Fact[T]:
    return Fact(value)


def unknown(reason: str) -> Fact[Any]:
    return Fact(unknown=reason or "no reason given")


def to_json(value: Any) -> Any:
    """JSON of a tree of frozen dataclasses: a fact is its value, or `{"unknown": reason}`."""
    if isinstance(value, Fact):
        return {"unknown": value.unknown} if value.value is None else to_json(value.value)
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    return value
