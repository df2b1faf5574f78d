"""Environment markers of Python requirements (PEP 508), as far as lock files and wheels use them.

`packaging` would do this too; the doctor and the lock must run with the standard library alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from enginewright.compatibility.version import try_version
from enginewright.errors import InputError, Problem

_TOKEN = re.compile(r"\s*(?:(\(|\)|<=|>=|==|!=|<|>|~=)|('[^']*'|\"[^\"]*\")|([a-z_]+))", re.ASCII)
_MAX_TOKENS = 200
_COMPARISONS = ("<=", ">=", "==", "!=", "<", ">", "~=", "in", "not in")

LINUX_X86_64: Mapping[str, str] = {
    "platform_system": "Linux",
    "sys_platform": "linux",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "python_version": "3.11",
    "python_full_version": "3.11.0",
    "extra": "",
}
"""The environment for which this project locks."""
MACOS_ARM64: Mapping[str, str] = {
    **LINUX_X86_64,
    "platform_system": "Darwin",
    "sys_platform": "darwin",
    "platform_machine": "arm64",
}


def holds(marker: str, environment: Mapping[str, str]) -> bool:
    """Whether the marker is true there; an empty one is. Raises `InputError` for a broken one."""
    tokens = _tokens(marker)
    if not tokens:
        return True
    value, rest = _or(tokens, environment, marker)
    if rest:
        raise _broken(marker)
    return value


def _tokens(marker: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    while position < len(marker.rstrip()):
        match = _TOKEN.match(marker, position)
        if match is None or len(tokens) >= _MAX_TOKENS:
            raise _broken(marker)
        tokens.append(match[1] or match[2] or match[3])
        position = match.end()
    return tokens


def _broken(marker: str) -> InputError:
    return InputError(Problem("environment marker cannot be read", actual=repr(marker)[:120]))


def _or(tokens: list[str], environment: Mapping[str, str], marker: str) -> tuple[bool, list[str]]:
    value, rest = _and(tokens, environment, marker)
    while rest and rest[0] == "or":
        other, rest = _and(rest[1:], environment, marker)
        value = value or other
    return value, rest


def _and(tokens: list[str], environment: Mapping[str, str], marker: str) -> tuple[bool, list[str]]:
    value, rest = _atom(tokens, environment, marker)
    while rest and rest[0] == "and":
        other, rest = _atom(rest[1:], environment, marker)
        value = value and other
    return value, rest


def _atom(tokens: list[str], environment: Mapping[str, str], marker: str) -> tuple[bool, list[str]]:
    if tokens and tokens[0] == "(":
        value, rest = _or(tokens[1:], environment, marker)
        if not rest or rest[0] != ")":
            raise _broken(marker)
        return value, rest[1:]
    if len(tokens) > 3 and tokens[1:3] == ["not", "in"]:
        tokens = [tokens[0], "not in", *tokens[3:]]
    if len(tokens) < 3 or tokens[1] not in _COMPARISONS:
        raise _broken(marker)
    left, right = (_value(token, environment, marker) for token in (tokens[0], tokens[2]))
    return _compare(left, tokens[1], right), tokens[3:]


def _value(token: str, environment: Mapping[str, str], marker: str) -> str:
    if token[0] in "'\"":
        return token[1:-1]
    if token not in environment:
        raise _broken(marker)
    return environment[token]


def _compare(left: str, operator: str, right: str) -> bool:
    if operator == "in":
        return left in right
    if operator == "not in":
        return left not in right
    first, second = try_version(left), try_version(right)
    if first is None or second is None:
        return (left == right) == (operator == "==") if operator in ("==", "!=") else False
    if operator == "~=":
        width = len(second.fields) - 1
        return first >= second and first.fields[:width] == second.fields[:width]
    return {
        "==": first == second,
        "!=": first != second,
        "<": first < second,
        ">": first > second,
        "<=": first <= second,
        ">=": first >= second,
    }[operator]
