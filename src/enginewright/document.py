"""Read a JSON object field by field, and remember everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from enginewright.errors import Problem
from enginewright.hashing import FileDigest

T = TypeVar("T")


@dataclass(frozen=True)
class Document:
    """A JSON object at `where`; each getter returns a usable value and notes a problem."""

    value: Mapping[str, Any]
    where: str
    problems: list[Problem] = field(default_factory=list)

    def text(self, name: str) -> str:
        return self._get(name, str, "a text", "")

    def number(self, name: str) -> int:
        """A non-negative integer."""
        number = self._get(name, int, "an integer", 0)
        if isinstance(number, bool) or number < 0:
            self.note(name, "an integer, at least 0", number)
            return 0
        return number

    def flag(self, name: str) -> bool:
        return self._get(name, bool, "true or false", False)

    def table(self, name: str) -> Mapping[str, Any]:
        return self._get(name, Mapping, "an object", {})  # type: ignore[type-abstract]

    def items(self, name: str) -> list[Any]:
        return self._get(name, list, "a list", [])

    def texts(self, name: str) -> tuple[str, ...]:
        items = self.items(name)
        if not all(isinstance(item, str) for item in items):
            self.note(name, "a list of texts", items)
            return ()
        return tuple(items)

    def sha256(self, name: str) -> str:
        text = self.text(name)
        if text and not re.fullmatch(r"[0-9a-f]{64}", text):
            self.note(name, "64 lower-case hex digits", text)
        return text

    def digest(self) -> FileDigest:
        """The fields `sha256` and `size` of this object."""
        return FileDigest(self.sha256("sha256"), self.number("size"))

    def child(self, name: str) -> Document:
        return Document(self.table(name), self._place(name), self.problems)

    def children(self, name: str, decode: Callable[[Document], T]) -> tuple[T, ...]:
        """Decode each object of a list."""
        decoded = []
        for index, item in enumerate(self.items(name)):
            if isinstance(item, Mapping):
                place = f"{self._place(name)}[{index}]"
                decoded.append(decode(Document(item, place, self.problems)))
            else:
                self.note(f"{name}[{index}]", "an object", item)
        return tuple(decoded)

    def _get(self, name: str, kind: type[T], expected: str, default: T) -> T:
        if name not in self.value:
            present = ", ".join(sorted(self.value)) or "no fields"
            self.problems.append(
                Problem(f"field `{name}` is missing", self.where, expected, present)
            )
            return default
        value = self.value[name]
        if not isinstance(value, kind):
            self.note(name, expected, value)
            return default
        return value

    def note(self, name: str, expected: str, value: Any) -> None:
        self.problems.append(
            Problem("field has a wrong value", self._place(name), expected, repr(value)[:200])
        )

    def _place(self, name: str) -> str:
        return f"{self.where}, {name}" if "," not in self.where else f"{self.where}.{name}"
