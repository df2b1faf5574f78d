"""What the transformers library takes for a field that a config leaves out.

The table is `library_defaults.toml`, read out of the library's classes. It names its version.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

NONE = "none"
"""How the table writes null, which TOML does not have."""


@cache
def _table() -> Mapping[str, Any]:
    path = files("enginewright.checkpoint").joinpath("library_defaults.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def library_fields(model_type: str) -> Mapping[str, Any]:
    """Fields of the class for `model_type`, with those of all classes: name to default."""
    table = _table()
    found = {**table["every_class"], **table.get(model_type, {})}
    return {name: None if value == NONE else value for name, value in found.items()}


def library_default(model_type: str, name: str) -> Any:
    """None where the class has no such field."""
    return library_fields(model_type).get(name)
