"""Fields of `config.json` that no reader here knows: which of them could change numbers.

A field is read for the family, or known to have no effect (`fields.toml`), or has the value that
the transformers library takes when it is not there. Whatever is left might change the model's
arithmetic elsewhere, and an export that does not know it would be silently another model.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from enginewright.checkpoint.library_defaults import library_fields
from enginewright.checkpoint.rope import unread_rope_fields
from enginewright.errors import Problem
from enginewright.families.family import Family


@dataclass(frozen=True)
class Unread:
    problems: tuple[Problem, ...]
    """Of fields that may change numbers: no exporter takes the checkpoint."""
    warnings: tuple[str, ...]
    """Of fields that the reference implementation does not read either, or that are off."""


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    path = files("enginewright.checkpoint").joinpath("fields.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def without_effect() -> frozenset[str]:
    """Fields that change no number of any family."""
    return frozenset(_table()["without_effect"])


def normalise(document: Mapping[str, Any]) -> dict[str, Any]:
    """A config of a known family without fields that have no effect.

    Checkpoints whose configs differ only in these, or in white space, give the same bytes, so no
    later step runs again.
    """
    dropped = without_effect()
    return {name: value for name, value in document.items() if name not in dropped}


def unread_fields(document: Mapping[str, Any], family: Family, where: str) -> Unread:
    """Sort what the config says beyond what is read for `family`; `where` names its file."""
    known, defaults = family.fields() | without_effect(), library_fields(family.model_type)
    problems, warnings = [], []
    file = PurePosixPath(where).name
    for name, value in sorted(document.items()):
        if name in known or value is None or _is_default(name, value, defaults):
            continue
        shown = f"`{name}` of {file} is {_short(value)}"
        if name in family.ignored:
            warnings.append(f"{shown}: not read for `{family.model_type}`, {family.ignored[name]}")
        elif not value and name not in defaults:
            warnings.append(f"{shown}: no exporter knows the field; taken as switched off")
        else:
            problems.append(_unknown(f"{where}, `{name}`", family, value))
    if family.kind == "decoder":
        for name, is_elsewhere in sorted(unread_rope_fields(document).items()):
            if is_elsewhere:
                warnings.append(f"`{name}` of {file} has no effect: its rope type does not read it")
            else:
                problems.append(_unknown(f"{where}, `{name}`", family, "a value"))
    return Unread(tuple(problems), tuple(warnings))


def _is_default(name: str, value: object, defaults: Mapping[str, Any]) -> bool:
    """Equal and of one kind: 0 is not false."""
    for table in (defaults, _table()["neutral"]):
        if name in table and table[name] == value:
            return isinstance(table[name], bool) == isinstance(value, bool)
    return False


def _short(value: object) -> str:
    return json.dumps(value)[:60]


def _unknown(where: str, family: Family, value: object) -> Problem:
    return Problem(
        "a field of the config may change numbers, and no exporter knows it",
        where,
        f"a field that is read for `{family.model_type}`, or one known to have no effect",
        value if isinstance(value, str) else _short(value),
        "delete it from config.json if the model computes the same without it; else this "
        "checkpoint cannot be exported",
    )
