"""What the annotations of a frozen dataclass say about the document that it is decoded from.

`enginewright.document` decodes and encodes by it.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin
from typing import get_type_hints as hints_of

T = TypeVar("T")
_KEY = "enginewright.document"


@dataclass(frozen=True)
class Rule:
    """What a value must be beyond its type: `Annotated[int, at_least(1)]`."""

    holds: Callable[[Any], bool]
    """Is asked of values of the right type only."""
    expected: Callable[[], str]
    """A phrase after the type's own (`an integer, at least 1`), or instead of it."""
    is_alone: bool = False


@dataclass(frozen=True)
class FromText(Generic[T]):
    """The value is written as a text: `Annotated[Version, FromText(Version.parse)]`.

    `parse` raises `InputError`; `str()` of the value gives the text back.
    """

    parse: Callable[[str], T]


def at_least(minimum: float) -> Rule:
    return Rule(lambda value: bool(value >= minimum), lambda: f"at least {minimum}")


def between(minimum: float, maximum: float) -> Rule:
    """Both included."""
    return Rule(lambda value: bool(minimum <= value <= maximum), lambda: f"{minimum} to {maximum}")


def one_of(valid: Sequence[Any] | Callable[[], Sequence[Any]]) -> Rule:
    """For values that stand in a table; for those that stand in the code there is `Literal`."""

    def values() -> Sequence[Any]:
        return valid() if callable(valid) else valid

    return Rule(
        lambda value: value in values(), lambda: "one of " + ", ".join(map(str, values())), True
    )


def matches(pattern: str, expected: str) -> Rule:
    """The whole text matches; `expected` says in words what that is."""
    compiled = re.compile(pattern, re.ASCII)
    return Rule(lambda text: compiled.fullmatch(text) is not None, lambda: expected, True)


NOT_EMPTY = Rule(lambda value: len(value) > 0, lambda: "not empty")
UNIQUE = Rule(lambda items: len({*map(repr, items)}) == len(items), lambda: "each once")

Count = Annotated[int, at_least(1)]
Size = Annotated[int, at_least(0)]
Name = Annotated[str, NOT_EMPTY]
Sha256 = Annotated[str, matches("[0-9a-f]{64}", "64 lower-case hex digits")]


def named(name: str) -> dict[str, Any]:
    """`field(metadata=named("from"))`: the field's name in the document."""
    return {_KEY: name}


INLINE: Mapping[str, Any] = {_KEY: None}
"""`field(metadata=INLINE)`: the fields of this dataclass stand in the object of its parent."""


@dataclass(frozen=True)
class Field:
    attribute: str
    name: str
    """In the document."""
    hint: Any
    is_required: bool
    is_inline: bool


@cache
def fields_of(kind: type) -> tuple[Field, ...]:
    hints = hints_of(kind, include_extras=True)
    found = []
    for item in dataclasses.fields(kind):
        has_default = not (item.default is item.default_factory is dataclasses.MISSING)
        name = item.metadata.get(_KEY, item.name)
        is_inline = name is None
        found.append(
            Field(item.name, name or item.name, hints[item.name], not has_default, is_inline)
        )
    return tuple(found)


def names_of(kind: type) -> Iterator[str]:
    """All names that the object of a `kind` may have."""
    for item in fields_of(kind):
        if item.is_inline:
            yield from names_of(plain(item.hint))
        else:
            yield item.name


def plain(hint: Any) -> Any:
    """The annotation without its rules."""
    return hint.__origin__ if get_origin(hint) is Annotated else hint


def rules_of(hint: Any) -> list[Rule]:
    return [item for item in getattr(hint, "__metadata__", ()) if isinstance(item, Rule)]


def text_form(hint: Any) -> FromText[Any] | None:
    found = [item for item in getattr(hint, "__metadata__", ()) if isinstance(item, FromText)]
    return found[0] if found else None


def is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def is_mapping(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _is_number(value: object) -> bool:
    """An integer too; neither NaN, an infinity, nor an integer beyond the doubles."""
    try:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False


SCALARS: Mapping[Any, tuple[str, Callable[[object], bool]]] = {
    str: ("a text", lambda value: isinstance(value, str)),
    int: ("an integer", lambda value: type(value) is int),
    float: ("a number", _is_number),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    type(None): ("null", lambda value: value is None),
    Path: ("a path", lambda value: isinstance(value, str) and value != ""),
    Any: ("a value", lambda _: True),
}
"""Annotation -> its form in words, and whether a value has it."""


def choices(hint: Any) -> Mapping[Any, Any] | None:
    """For a `Literal` or an `Enum`: what stands in the document -> the value."""
    if get_origin(hint) is Literal:
        return {value: value for value in get_args(hint)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {member.value: member for member in hint}
    return None


def form(hint: Any) -> str:
    """What a value of this annotation looks like, in words."""
    rules = rules_of(hint)
    alone = [rule.expected() for rule in rules if rule.is_alone]
    base = alone[0] if alone else _form(str if text_form(hint) else plain(hint))
    return ", ".join([base, *(rule.expected() for rule in rules if not rule.is_alone)])


def _form(hint: Any) -> str:
    arguments, valid = get_args(hint), choices(hint)
    if valid is not None:
        return ("one of " if len(valid) > 1 else "") + ", ".join(map(str, valid))
    if hint in SCALARS:
        return SCALARS[hint][0]
    if is_union(hint):
        return " or ".join(map(form, arguments))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return "an object with " + ", ".join(names_of(hint))
    if get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        return f"a list, each item {form(arguments[0])}"
    if get_origin(hint) is tuple:
        return f"a list of {len(arguments)}: " + "; ".join(map(form, arguments))
    if is_mapping(hint):
        return f"an object, each value {form(arguments[1])}"
    raise TypeError(f"documents have nothing for the annotation {hint!r}")
