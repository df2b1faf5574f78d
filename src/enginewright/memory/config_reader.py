"""Fields of a decoder's config under all their names, and which of them were read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enginewright.errors import Problem
from enginewright.memory.families import Family, names_of

MAX_COUNT = 1 << 30


@dataclass
class ConfigReader:
    """Collects problems, the names that were read, and the defaults that stood in."""

    config: Mapping[str, Any]
    where: str
    family: Family
    problems: list[Problem] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    defaults: dict[str, Any] = field(default_factory=dict)
    """Fields that the config leaves out, with the value of the library's config class."""
    doubts: list[str] = field(default_factory=list)
    guesses: list[str] = field(default_factory=list)
    """Sizes that no field says: the true ones may be larger."""
    reported: set[str] = field(default_factory=set)
    """Fields that a problem names already."""

    def value(self, meaning: str) -> Any:
        """The field that the config has under one of the names of `meaning`, or the library's.

        A field that is there and null has no value, as in the library.
        """
        names = [name for name in names_of(meaning) if name not in self.family.ignored]
        present = [name for name in names if name in self.config]
        self.read.update(present)
        given = {name: self.config[name] for name in present if self.config[name] is not None}
        if given:
            name, value = next(iter(given.items()))
            self._compare(given)
            return value
        if present:
            return None
        for name in names:
            value = self.family.defaults.get(name)
            if value is not None:
                self.defaults[name] = value
                return value
        return None

    def _compare(self, given: Mapping[str, Any]) -> None:
        """Two names of one thing that differ: which one the runtime reads is not known."""
        if len(given) > 1 and len({repr(value) for value in given.values()}) > 1:
            values = ", ".join(f"`{name}` {value!r}"[:80] for name, value in given.items())
            self.doubts.append(f"fields of one meaning differ: {values}")

    def flag(self, name: str) -> bool:
        return self.value(name) is True

    def count(self, meaning: str, default: int | None = None) -> int:
        """A positive number; notes a problem where it is missing and has no default."""
        return self.check(meaning, self.value(meaning), default)

    def check(self, name: str, value: Any, default: int | None = None) -> int:
        if type(value) is int and 0 < value <= MAX_COUNT:
            return value
        if value is not None:
            self.wrong(name, f"1 to {MAX_COUNT}", value)
        elif default is None:
            self.missing(name, "a positive integer")
        return default or 1

    def counts(self, meaning: str, layers: int, default: int | None = None) -> tuple[int, ...]:
        """A positive number for each layer, from one number or from a list."""
        value = self.value(meaning)
        if not isinstance(value, list):
            return (self.check(meaning, value, default),) * layers
        if len(value) != layers:
            self.wrong(meaning, f"one number, or {layers} of them", value)
            return (default or 1,) * layers
        return tuple(self.check(meaning, item, default) for item in value)

    def wrong(self, name: str, expected: str, actual: Any) -> None:
        if name in self.reported:
            return
        self.reported.add(name)
        self.problems.append(
            Problem("not a count", f"{self.where}, {name}", expected, repr(actual)[:80])
        )

    def missing(self, name: str, expected: str) -> None:
        if name in self.reported:
            return
        self.reported.add(name)
        known = ", ".join(names_of(name))
        self.problems.append(
            Problem(
                f"field `{name}` is missing",
                self.where,
                expected,
                f"none of {known}" if known != name else "",
                "add it to config.json; the config class of the model's own library has its value",
            )
        )
