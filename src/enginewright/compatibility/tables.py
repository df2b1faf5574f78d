"""The tables as data: read once, each row checked for its key and its source document."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from enginewright.errors import InputError, Problem

TABLES = (
    "driver_cuda",
    "forward_compatibility",
    "gpu",
    "integrated_gpu",
    "onnx_reader",
    "product",
    "ptx",
    "toolkit",
    "torch_wheel",
)
"""Names of the tables; the files lie beside this module."""
OF_PRODUCTS = ("onnx_reader", "product")
"""Those whose rows about a product stand in its room, in the array of this name."""
VERSIONS = "versions.toml"
HOW_TO_ADD = (
    "add a `[[row]]` with its `source` to the table's file in src/enginewright/compatibility/"
)
"""The fix where a table ends too early."""


@dataclass(frozen=True)
class Row:
    """One row of a table; `values` has every field except key and source."""

    table: str
    key: str
    values: Mapping[str, Any]
    source: str
    """Title and section of the document, or the measurement, that the row was taken from."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def name(self) -> str:
        """How messages point at the row."""
        return f"{self.table} row `{self.key}`"

    def text(self) -> str:
        """The row for people, one field a line."""
        lines = [self.name]
        for name, value in self.values.items():
            if isinstance(value, Mapping):
                lines.append(f"  {name}:")
                lines += [f"    {key}: {_plain(item)}" for key, item in value.items()]
            else:
                lines.append(f"  {name}: {_plain(value)}")
        return "\n".join([*lines, f"  source: {self.source}"])


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@cache
def table(name: str) -> Mapping[str, Row]:
    """All rows of a table by key, in file order; raise `InputError` for an unknown name."""
    if name not in TABLES:
        raise InputError(
            Problem("no such table", expected="one of " + ", ".join(TABLES), actual=name[:80])
        )
    rows: dict[str, Row] = {}
    for entry in _entries(name):
        key, source = entry.pop("key"), entry.pop("source")
        rows[key] = Row(name, key, MappingProxyType(entry), source)
    return MappingProxyType(rows)


def _entries(name: str) -> Iterator[dict[str, Any]]:
    file = files("enginewright.compatibility") / f"{name}.toml"
    if file.is_file():
        yield from tomllib.loads(file.read_text(encoding="utf-8"))["row"]
    if name not in OF_PRODUCTS:
        return
    for room in sorted(files("enginewright.products").iterdir(), key=lambda room: room.name):
        versions = room / VERSIONS
        if versions.is_file():
            yield from tomllib.loads(versions.read_text(encoding="utf-8")).get(name, [])


def find(name: str, key: str) -> Row | None:
    """The row with exactly this key, or None."""
    return table(name).get(key)


def how_to_add(name: str) -> str:
    """The fix where this table has no row."""
    if name in OF_PRODUCTS:
        return f"add a `[[{name}]]` with its `source` to src/enginewright/products/*/{VERSIONS}"
    return HOW_TO_ADD.replace("the table's file in ", "").rstrip("/") + f"/{name}.toml"


def row(name: str, key: str) -> Row:
    """The row with exactly this key; raise `InputError` listing the keys that there are."""
    found = find(name, key)
    if found is None:
        raise InputError(
            Problem(
                f"table {name} has no such row",
                expected="one of " + ", ".join(f"`{known}`" for known in table(name)),
                actual=f"`{key[:80]}`",
                fix=how_to_add(name),
            )
        )
    return found
