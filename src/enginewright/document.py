"""Decode a frozen dataclass from a JSON or TOML object, and find everything that is wrong with it.

The annotations are the schema:

    str, int, float, bool, None, Any, Path (from a text), Literal, Enum (by its value), X | Y,
    tuple[X, ...], tuple[X, Y], Mapping[str, X], a dataclass, Annotated[X, a rule, ...]

`enginewright.schema` has the rules. A field with a default may be absent; a field that the
dataclass does not have is an error, unless the class says `OPEN: ClassVar[bool] = True`. What
several fields must be together stands in `__post_init__`, which raises `InputError` with places
relative to its object.
"""

from __future__ import annotations

import dataclasses
import json
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from enginewright import canonical_json
from enginewright.errors import InputError, Problem
from enginewright.schema import (
    SCALARS,
    FromText,
    choices,
    fields_of,
    form,
    is_mapping,
    is_union,
    names_of,
    plain,
    rules_of,
    text_form,
)

T = TypeVar("T")
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 4
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = 8
_SHORT.maxstring = _SHORT.maxother = 160


def decode(kind: type[T], value: object, where: str) -> T:
    """The `kind` that a document says; raises `InputError` with all its problems.

    `where` is the name of the document. The place of a problem is `where, field.path[3]`.
    """
    decoded, problems = attempt(kind, value, where)
    if decoded is None:
        raise InputError(problems)
    return decoded


def attempt(kind: type[T], value: object, where: str) -> tuple[T | None, tuple[Problem, ...]]:
    """As `decode`, for those who report problems: either the `kind`, or None and its problems."""
    decoder = _Decoder(where)
    decoded = decoder.value(kind, value, "")
    problems = tuple(decoder.problems)
    return (None if problems else decoded), problems


def read(kind: type[T], path: Path) -> T:
    """Decode a JSON or, by its name, a TOML file; raises `InputError` with all its problems."""
    is_toml = path.suffix == ".toml"
    return decode(kind, (_toml if is_toml else canonical_json.read_object)(path), str(path))


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(Problem("not a TOML file", str(path), actual=str(error)[:200])) from error


def encode(value: Any) -> dict[str, Any]:
    """The object that `decode` makes this dataclass of, as `canonical_json` writes it."""
    document: dict[str, Any] = {}
    for item in fields_of(value.__class__):
        member = getattr(value, item.attribute)
        if item.is_inline:
            document.update(encode(member))
        else:
            document[item.name] = _encoded(item.hint, member)
    return document


def _encoded(hint: Any, value: Any) -> Any:
    """By the annotation: of a value alone one cannot see that its document is a text."""
    hint, is_text = plain(hint), text_form(hint) is not None
    arguments = get_args(hint)
    if is_union(hint):
        fitting = [member for member in arguments if _is_of(member, value)]
        return _encoded(fitting[0], value)
    if value is not None and is_text:
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return value.as_posix()
    if dataclasses.is_dataclass(value):
        return encode(value)
    if get_origin(hint) is tuple:
        kinds = arguments[:1] * len(value) if arguments[-1] is ... else arguments
        return [_encoded(kind, item) for kind, item in zip(kinds, value, strict=True)]
    if is_mapping(hint):
        return {key: _encoded(arguments[1], item) for key, item in value.items()}
    return value


def _is_of(hint: Any, value: Any) -> bool:
    """Whether a decoded value is of this member of a union."""
    hint = plain(hint)
    if hint is Any or choices(hint) is not None:
        return hint is Any or value in (get_args(hint) or hint)
    origin = get_origin(hint) or hint
    return isinstance(value, origin) and not (origin is int and isinstance(value, bool))


@dataclass
class _Decoder:
    where: str
    problems: list[Problem] = field(default_factory=list)

    def value(self, hint: Any, value: object, place: str) -> Any:
        """The decoded value; after a problem was noted, something of no use."""
        parsed = text_form(hint)
        if parsed is not None:
            return self._from_text(parsed, hint, value, place)
        before = len(self.problems)
        decoded = self._by_type(hint, plain(hint), value, place)
        # Where a type has rules and may be null, the rules are about what is there.
        is_there = len(self.problems) == before and decoded is not None
        if is_there and not all(rule.holds(decoded) for rule in rules_of(hint)):
            return self._wrong(hint, value, place)
        return decoded

    def _by_type(self, hint: Any, kind: Any, value: object, place: str) -> Any:
        """`kind` is the `hint` without its rules, which belong into messages."""
        valid = choices(kind)
        if valid is not None:
            same = [key for key in valid if type(key) is type(value) and key == value]
            return valid[same[0]] if same else self._wrong(hint, value, place)
        if kind in SCALARS:
            if not SCALARS[kind][1](value):
                return self._wrong(hint, value, place)
            return kind(value) if kind in (float, Path) else value
        if is_union(kind):
            return self._union(hint, get_args(kind), value, place)
        if dataclasses.is_dataclass(kind):
            return self._object(kind, value, place)
        if get_origin(kind) is tuple:
            return self._list(hint, get_args(kind), value, place)
        if is_mapping(kind):
            return self._mapping(hint, get_args(kind)[1], value, place)
        raise TypeError(f"documents have nothing for the annotation {hint!r}")

    def _from_text(self, parsed: FromText[Any], hint: Any, value: object, place: str) -> Any:
        if not isinstance(value, str):
            return self._wrong(hint, value, place)
        try:
            return parsed.parse(value)
        except InputError as error:
            self._add(error.problems, place)

    def _union(self, hint: Any, members: Sequence[Any], value: object, place: str) -> Any:
        for member in members:
            attempted = _Decoder(self.where)
            decoded = attempted.value(member, value, place)
            if not attempted.problems:
                return decoded
        meant = [member for member in members if _is_meant(member, value)]
        if len(meant) != 1:
            return self._wrong(hint, value, place)
        return self.value(meant[0], value, place)

    def _object(self, kind: Any, value: object, place: str) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(kind, value, place)
        if not getattr(kind, "OPEN", False):
            known = [*names_of(kind)]
            for name in sorted({*map(str, value)} - {*known}):
                self._note(f"unknown field `{name[:80]}`", place, "one of " + ", ".join(known))
        return self._members(kind, value, place)

    def _members(self, kind: Any, value: Mapping[Any, object], place: str) -> Any:
        before = len(self.problems)
        found = {}
        for item in fields_of(kind):
            if item.is_inline:
                found[item.attribute] = self._members(plain(item.hint), value, place)
            elif item.name in value:
                inner = place + _step(item.name, place)
                found[item.attribute] = self.value(item.hint, value[item.name], inner)
            elif item.is_required:
                present = ", ".join(sorted(map(str, value))) or "no fields"
                what = f"field `{item.name}` is missing"
                self._note(what, place, form(item.hint), present[:400])
        if len(self.problems) > before:
            return None
        try:
            return kind(**found)
        except InputError as error:
            self._add(error.problems, place)

    def _list(self, hint: Any, kinds: tuple[Any, ...], value: object, place: str) -> Any:
        if not isinstance(value, list | tuple):
            return self._wrong(hint, value, place)
        if kinds[-1] is ...:
            kinds = kinds[:1] * len(value)
        if len(value) != len(kinds):
            return self._wrong(hint, value, place)
        items = enumerate(zip(kinds, value, strict=True))
        return tuple(self.value(kind, item, f"{place}[{n}]") for n, (kind, item) in items)

    def _mapping(self, hint: Any, kind: Any, value: object, place: str) -> Any:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            return self._wrong(hint, value, place)
        items = value.items()
        return {key: self.value(kind, item, place + _step(key, place)) for key, item in items}

    def _wrong(self, hint: Any, value: object, place: str) -> None:
        self._note("field has a wrong value", place, form(hint), _SHORT.repr(value))

    def _add(self, problems: Sequence[Problem], place: str) -> None:
        """Problems whose places begin at `place`."""
        for problem in problems:
            dot = "." if place and problem.where and not problem.where.startswith("[") else ""
            where = self._place(f"{place}{dot}{problem.where}")
            self.problems.append(dataclasses.replace(problem, where=where))

    def _note(self, what: str, place: str, expected: str, actual: str = "") -> None:
        self.problems.append(Problem(what, self._place(place), expected, actual))

    def _place(self, place: str) -> str:
        return ", ".join(part for part in (self.where, place) if part)


def _step(name: str, place: str) -> str:
    """From an object to its field: a file's name has dots of its own."""
    if not name.isidentifier():
        return f"[{json.dumps(name, ensure_ascii=False)}]"
    return f".{name}" if place else name


def _is_meant(hint: Any, value: object) -> bool:
    """Whether a value of a wrong form tries to be this member of a union: it says so by its shape.

    An object does by the fields that are a `Literal` of the member, as `kind: Literal["decoder"]`.
    """
    if text_form(hint) is not None:
        return isinstance(value, str)
    hint = plain(hint)
    if isinstance(value, Mapping) and dataclasses.is_dataclass(hint) and isinstance(hint, type):
        tags = {item.name: choices(plain(item.hint)) for item in fields_of(hint)}
        return all(value.get(name) in [*valid] for name, valid in tags.items() if valid is not None)
    if isinstance(value, list | tuple):
        return get_origin(hint) is tuple
    return isinstance(value, Mapping) and is_mapping(hint)
