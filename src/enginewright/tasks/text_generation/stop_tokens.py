"""The tokens that end an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from enginewright import canonical_json

SOURCES = ("generation_config.json", "config.json")


def stop_tokens(files: Mapping[str, Path]) -> frozenset[int]:
    """`eos_token_id` of generation_config.json, else of config.json; one or several."""
    for name in SOURCES:
        path = files.get(name)
        value = canonical_json.read_object(path).get("eos_token_id") if path is not None else None
        if value is not None:
            return frozenset([value] if isinstance(value, int) else value)
    return frozenset()
