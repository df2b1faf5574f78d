"""Typed access to the fields of a JSON object that collects what is missing or wrong."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enginewright.errors import Problem

MAX_COUNT = 2**31 - 1


@dataclass(frozen=True)
class Fields:
    """A JSON object of the file `where`; each fault found goes to `problems`.

    A field that is null counts as missing, as in the transformers library. After a fault the
    methods return a value of the right type, so that the reading goes on.
    """

    document: Mapping[str, Any]
    where: str
    problems: list[Problem]
    parent: str = ""
    contradictions: list[Problem] = field(default_factory=list)
    """Fields that are right alone and not together: the checkpoint is whole, its meaning is not."""

    def place(self, name: str) -> str:
        return f"{self.where}, `{self.parent}{name}`"

    def wrong(self, name: str, expected: str) -> None:
        actual = repr(self.document.get(name))[:100]
        self.problems.append(
            Problem("a field of the config is wrong", self.place(name), expected, actual)
        )

    def missing(self, name: str, expected: str) -> None:
        self.problems.append(
            Problem("a field of the config is missing", self.place(name), expected)
        )

    def count(self, name: str, default: int | None = None, *, maximum: int = MAX_COUNT) -> int:
        """A whole number from 1 to `maximum`."""
        value = self.document.get(name)
        expected = f"a whole number from 1 to {maximum}"
        if type(value) is int and 1 <= value <= maximum:
            return value
        if value is not None:
            self.wrong(name, expected)
        elif default is not None:
            return default
        else:
            self.missing(name, expected)
        return 1

    def number(self, name: str, default: float | None = None) -> float:
        """A number above 0 that a double holds."""
        value = self.document.get(name)
        expected = "a number above 0"
        if isinstance(value, int | float) and not isinstance(value, bool):
            if 0 < value <= sys.float_info.max:
                return float(value)
            self.wrong(name, expected)
            return 1.0
        if value is not None:
            self.wrong(name, expected)
        elif default is not None:
            return default
        else:
            self.missing(name, expected)
        return 1.0

    def flag(self, name: str, default: bool) -> bool:
        value = self.document.get(name)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.wrong(name, "true or false")
        return default

    def text(
        self,
        name: str,
        default: str | None = None,
        *,
        missing: str = "a field of the config is missing",
        expected: str = "a text",
        fix: str = "",
    ) -> str:
        value = self.document.get(name)
        if isinstance(value, str) and value:
            return value
        if value is not None:
            self.wrong(name, expected)
        elif default is not None:
            return default
        else:
            actual = "no such field"
            self.problems.append(Problem(missing, self.place(name), expected, actual, fix))
        return default or ""

    def nested(self, name: str) -> Fields:
        """The object under `name`, empty when it is missing."""
        value = self.document.get(name)
        if value is not None and not isinstance(value, Mapping):
            self.wrong(name, "an object")
        document = value if isinstance(value, Mapping) else {}
        parent = f"{self.parent}{name}."
        return Fields(document, self.where, self.problems, parent, self.contradictions)

    def contradiction(self, names: str, expected: str, actual: str) -> None:
        """Note that the fields `names` say different things."""
        self.contradictions.append(
            Problem(
                "two fields of the config contradict each other",
                f"{self.where}, {names}",
                expected,
                actual,
                "delete the one that the weights were not trained with, or correct it",
            )
        )
