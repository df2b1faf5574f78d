"""What is known of each model type: rules of `families.toml`, fields of `library_defaults.json`.

The second table is generated: `tests/src/memory/test_library_defaults.py` writes and compares it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_ROOM = files("enginewright.memory")


@cache
def rules() -> Mapping[str, Any]:
    """`families.toml` as it is."""
    return tomllib.loads((_ROOM / "families.toml").read_text(encoding="utf-8"))


@cache
def library() -> Mapping[str, Any]:
    """`library_defaults.json` as it is."""
    table: dict[str, Any] = json.loads((_ROOM / "library_defaults.json").read_text("utf-8"))
    return table


def names_of(meaning: str) -> tuple[str, ...]:
    """All names of a field, the usual one first."""
    return tuple(rules()["names"].get(meaning, (meaning,)))


@dataclass(frozen=True)
class Family:
    """One value of `model_type`."""

    model_type: str
    defaults: Mapping[str, Any]
    """Values of the library's config class for fields that a config leaves out."""
    fields: frozenset[str]
    """Fields of that class."""
    compared: bool
    """Whether a test compares its layers with the library's cache, or a document describes them."""
    documented: str
    """The document that describes its layers, where nothing compared them; empty otherwise."""
    state: str
    """Name of the formula for the fixed state; empty where none is known."""
    latent: bool
    """Whether servers cache the latent vector of its attention."""
    attentions_a_layer: int
    head_dim_of_hidden: int
    """The head size that follows is this times the hidden size by the heads."""
    sliding_kv_heads_times: int
    """KV heads of a sliding layer, in those of the field."""
    ignored: frozenset[str]
    """Names that mean something else in this family."""
    length_has_factor: bool
    """Whether `max_position_embeddings` includes the factor of its rope scaling already."""

    @property
    def in_library(self) -> bool:
        return bool(self.fields)


def family(model_type: str) -> Family:
    """Of a type that is in no table, too: then nothing is known but the config's own fields."""
    table = rules()
    entry = library()["types"].get(model_type, {})
    own = table["families"].get(model_type, {})
    formulas = [name for name, types in table["state"].items() if model_type in types]
    return Family(
        model_type=model_type,
        defaults={**entry.get("defaults", {}), **own.get("defaults", {})},
        fields=frozenset(entry.get("fields", ())),
        compared=model_type in table["compared"]["types"] or model_type in table["documented"],
        documented=table["documented"].get(model_type, ""),
        state=formulas[0] if formulas else "",
        latent=model_type in table["latent"]["types"],
        attentions_a_layer=own.get("attentions_a_layer", 1),
        head_dim_of_hidden=own.get("head_dim_of_hidden", 1),
        sliding_kv_heads_times=own.get("sliding_kv_heads_times", 1),
        ignored=frozenset(own.get("ignored", ())),
        length_has_factor=own.get("length_has_factor", False),
    )


def text_type(model_type: str) -> str:
    """The type of the decoder inside a multimodal model, by the library's config class."""
    return str(library()["text_types"].get(model_type, model_type))
