"""Fields of a config that sound as if they decided memory, and that nobody read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from enginewright.memory.config_reader import ConfigReader
from enginewright.memory.families import rules


def unread_fields(reader: ConfigReader, config: Mapping[str, Any]) -> Iterator[str]:
    """A doubt for each field that names layers, heads, groups, windows, sharing or caches.

    Fields without a value say nothing. Those of a config class whose caches were compared with ours
    are known, and so are the names that `families.toml` lists as harmless.
    """
    known = reader.family.fields if reader.family.compared else frozenset()
    harmless = re.compile("|".join(rules()["harmless"]["patterns"]))
    telling = re.compile("|".join(rules()["telling"]["patterns"]))
    for name, value in _fields(config):
        last = name.rpartition(".")[2]
        if value in (None, False, 0, "", [], {}) or last in reader.read or last in known:
            continue
        if telling.search(last) and not harmless.fullmatch(last):
            yield f"`{name}` is not read"


def _fields(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of the decoder and of the parts that hold some of its fields."""
    for name, value in config.items():
        if isinstance(value, Mapping) and name in rules()["nested"]["parts"]:
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value
