"""The families that there are: every TOML file of this folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from enginewright import document
from enginewright.families.family import DecoderFamily, EncoderFamily, Family


@cache
def families() -> Mapping[str, Family]:
    """By `model_type`, sorted. Raises `InputError` for a row that is none."""
    rows: dict[str, Family] = {}
    for path in files("enginewright.families").iterdir():
        if path.name.endswith(".toml"):
            row = tomllib.loads(path.read_text(encoding="utf-8"))
            family = _decode(row, path.name)
            rows[family.model_type] = family
    return MappingProxyType(dict(sorted(rows.items())))


def _decode(row: Mapping[str, object], where: str) -> Family:
    if row.get("kind") == "encoder":
        return document.decode(EncoderFamily, row, where)
    return document.decode(DecoderFamily, row, where)


@cache
def architectures() -> Mapping[str, Family]:
    """Class names of the library whose tensors are known, and the family of each."""
    return MappingProxyType(
        {
            name: family
            for family in families().values()
            for name in sorted({family.base, *family.tasks.values()})
        }
    )


def exportable(task: str) -> tuple[str, ...]:
    """Classes of which a checkpoint can be exported for `task`; none for an unknown task."""
    found = {family.tasks[task] for family in families().values() if task in family.tasks}
    return tuple(sorted(found))
