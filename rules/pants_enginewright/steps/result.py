"""What a step says in its `result.json`, as the dataclass that a rule asks for."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, Dict, List, Mapping, Type, TypeVar, Union

from pants.util.frozendict import FrozenDict

from pants_enginewright import canonical_json

R = TypeVar("R")


class ResultFormatError(Exception):
    """A step said something else than the rule behind it expects: both are ours."""

    def __init__(self, address: str, action: str, problems: List[str]) -> None:
        super().__init__(
            f"{address}: step `{action}` gave a result that the rules do not understand, a defect "
            f"of ours:\n" + "\n".join(f"  {problem}" for problem in problems)
        )


def read_result(kind: Type[R], text: str, address: str, action: str) -> R:
    """Decode a frozen dataclass by its annotations; what it does not name is left out.

    Knows `str`, `int`, `float`, `bool`, `Any`, other dataclasses, `Optional` and `Union`,
    `Tuple[X, ...]` for a list and `FrozenDict[str, X]` for an object. A field with a default may
    be absent. Raises `ResultFormatError` with all problems.
    """
    problems: List[str] = []
    made = _decode(kind, canonical_json.loads(text), "", problems)
    if problems:
        raise ResultFormatError(address, action, problems)
    return typing.cast(R, made)


def _decode(kind: Any, value: Any, where: str, problems: List[str]) -> Any:
    if kind is Any:
        return value
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Union:
        return _decode_union(arguments, value, where, problems)
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        return _decode_dataclass(kind, value, where, problems)
    if origin is tuple and isinstance(value, list):
        return tuple(
            _decode(arguments[0], item, f"{where}[{index}]", problems)
            for index, item in enumerate(value)
        )
    if origin is FrozenDict and isinstance(value, Mapping):
        return FrozenDict(
            (name, _decode(arguments[1], item, f"{where}[{name!r}]", problems))
            for name, item in value.items()
        )
    if _is_plain(kind, value):
        return value
    problems.append(f"`{where or 'the result'}` is {value!r}; expected {_name(kind)}")
    return None


def _decode_union(kinds: Any, value: Any, where: str, problems: List[str]) -> Any:
    for kind in kinds:
        found: List[str] = []
        made = _decode(kind, value, where, found)
        if not found:
            return made
    if len(kinds) == 2 and type(None) in kinds:
        # The problem lies inside of what is there.
        (kind,) = (kind for kind in kinds if kind is not type(None))
        return _decode(kind, value, where, problems)
    problems.append(f"`{where}` is {value!r}; expected {' or '.join(map(_name, kinds))}")
    return None


def _decode_dataclass(kind: Any, value: Mapping[str, Any], where: str, problems: List[str]) -> Any:
    hints = typing.get_type_hints(kind)
    made: Dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        place = f"{where}.{field.name}" if where else field.name
        if field.name in value:
            made[field.name] = _decode(hints[field.name], value[field.name], place, problems)
        elif field.default is dataclasses.MISSING:
            problems.append(f"`{place}` is missing; expected {_name(hints[field.name])}")
            made[field.name] = None
    return None if problems else kind(**made)


def _is_plain(kind: Any, value: Any) -> bool:
    if kind is float:
        return type(value) in (int, float)
    return kind in (str, int, bool, type(None)) and type(value) is kind


def _name(kind: Any) -> str:
    origin = typing.get_origin(kind)
    names = {tuple: "a list", FrozenDict: "an object", type(None): "null", float: "a number"}
    if kind is Any or dataclasses.is_dataclass(kind):
        return "an object" if kind is not Any else "a value"
    if origin is Union:
        return " or ".join(map(_name, typing.get_args(kind)))
    return names.get(origin or kind) or f"{kind.__name__}"
