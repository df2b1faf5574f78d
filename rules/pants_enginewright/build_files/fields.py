"""Fields that keep what the user wrote, so that all mistakes of a BUILD file show at once.

Pants stops at the first field that refuses its value. These fields refuse nothing when a target is
made; `problems()` says what is wrong, and `build_files/build_file.py` collects it over all targets.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Iterator, Mapping, Optional, Sequence, Type

from pants.engine.addresses import Address
from pants.engine.internals.parametrize import Parametrize
from pants.engine.target import AsyncFieldMixin, Field
from pants.util.frozendict import FrozenDict
from pants.util.strutil import strval


def freeze(value: Any) -> Any:
    """Hashable copy of BUILD file data: lists become tuples, dicts become `FrozenDict`."""
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """Plain JSON data again."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return value


class CheckedField(AsyncFieldMixin, Field):
    """A field whose value is checked by `problems()` instead of by its construction."""

    value: Any
    default: ClassVar[Any] = None
    expected: ClassVar[str]
    """Says which values are valid, in words or as a list."""
    meaning: ClassVar[str]
    """The help that the field was written with; `help` has the valid values, too."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "help" in cls.__dict__:
            cls.meaning = strval(cls.help)
            cls.help = partial(_help, cls)

    @classmethod
    def compute_value(cls, raw_value: Any, address: Address) -> Any:
        del address
        return freeze(cls.default if raw_value is None else raw_value)

    def is_valid(self) -> bool:
        raise NotImplementedError

    def problems(self) -> Iterator[str]:
        if self.value is None:
            if self.required:
                yield f"field `{self.alias}` is required; expected {self.expected}"
        elif isinstance(self.value, Parametrize):
            # Pants takes one alternative for a value.
            yield (
                f"field `{self.alias}` has `parametrize` with one alternative; write that "
                f"alternative alone, or add another"
            )
        elif not self.is_valid():
            yield (f"field `{self.alias}` has value {thaw(self.value)!r}; expected {self.expected}")


def valid_values(field: Type[CheckedField]) -> str:
    """Which values a field takes, in the words of the error for any other."""
    # As it was written: a property reads attributes that classes have as well.
    made = next(kind.__dict__["expected"] for kind in field.__mro__ if "expected" in kind.__dict__)
    return str(made.fget(field) if isinstance(made, property) and made.fget else made)


def _help(field: Type[CheckedField]) -> str:
    """For `./pants help TARGET`, which knows no types of these fields."""
    return f"{field.meaning}\n\nValid: {valid_values(field)}."


class ChoiceField(CheckedField):
    """One of a closed set of values."""

    choices: ClassVar[Sequence[Any]]

    @property
    def expected(self) -> str:  # type: ignore[override]
        return "one of " + ", ".join(repr(choice) for choice in self.choices)

    def is_valid(self) -> bool:
        return any(
            self.value == choice and type(self.value) is type(choice) for choice in self.choices
        )


class TextField(CheckedField):
    expected = "a string"

    def is_valid(self) -> bool:
        return isinstance(self.value, str) and bool(self.value)


class AddressField(TextField):
    """The address of one other target, which becomes a dependency."""

    expected = "the address of a target"


class FlagField(CheckedField):
    expected = "True or False"

    def is_valid(self) -> bool:
        return isinstance(self.value, bool)


class NumberField(CheckedField):
    """An integer, or with `fractional` any number, from `least` to `most`."""

    least: ClassVar[float] = 0
    most: ClassVar[Optional[float]] = None
    fractional: ClassVar[bool] = False

    @property
    def expected(self) -> str:  # type: ignore[override]
        kind = "a number" if self.fractional else "an integer"
        upper = "" if self.most is None else f" and at most {self.most}"
        return f"{kind} of at least {self.least}{upper}"

    def is_valid(self) -> bool:
        value = self.value
        kinds = (int, float) if self.fractional else (int,)
        if isinstance(value, bool) or not isinstance(value, kinds):
            return False
        assert isinstance(value, (int, float))
        return value >= self.least and (self.most is None or value <= self.most)


class ListField(CheckedField):
    """A list of strings that each pass `accepts`; `thaw(field.value)` is the list."""

    expected = "a list of strings"

    @staticmethod
    def accepts(item: str) -> bool:
        return bool(item)

    def is_valid(self) -> bool:
        if not isinstance(self.value, tuple):
            return False
        return all(isinstance(item, str) and self.accepts(item) for item in self.value)


class AddressListField(ListField):
    """Addresses of other targets, which become dependencies."""

    expected = "a list of addresses of targets"
