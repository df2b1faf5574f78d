"""The longest context that a `config.json` allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_TOKENS = 1 << 30
LENGTH_FIELDS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_sequence_length",
    "max_context_length",
)
"""Fields that limit the context; the smallest one counts, as in vLLM."""
_UNSCALED_ROPE = ("default", "llama3", "longrope", "su", "mrope")
"""Rope types whose max_position_embeddings already includes the extension."""


@dataclass(frozen=True)
class LengthLimit:
    """The longest context that the config allows, and which fields say so."""

    tokens: int
    source: str


def length_limit(config: Mapping[str, Any], *, has_factor: bool = False) -> LengthLimit | None:
    """None where no field says so.

    With `has_factor` the model type's `max_position_embeddings` includes the factor of its scaling.
    """
    found = {
        name: config[name]
        for name in LENGTH_FIELDS
        if type(config.get(name)) is int and 0 < config[name] <= MAX_TOKENS
    }
    if not found:
        return None
    name = min(found, key=lambda field: found[field])
    limit = LengthLimit(found[name], name)
    return limit if has_factor else _scaled(config, limit)


def _scaled(config: Mapping[str, Any], limit: LengthLimit) -> LengthLimit:
    """Apply rope scaling: the factor extends the trained length for most of its types."""
    # As for the graph (`rope.py`): an empty `rope_scaling` says nothing.
    field = "rope_scaling" if config.get("rope_scaling") else "rope_parameters"
    scaling = config.get(field)
    if not isinstance(scaling, Mapping):
        return limit
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    factor = scaling.get("factor")
    if kind in _UNSCALED_ROPE or isinstance(factor, bool) or not isinstance(factor, (int, float)):
        return limit
    name = "original_max_position_embeddings"
    original = scaling.get(name) or config.get(name)
    base = original if kind == "yarn" and type(original) is int and original > 0 else limit.tokens
    if not 1 <= factor <= 1024 or base > MAX_TOKENS:
        return limit
    return LengthLimit(int(base * factor), f"{limit.source} and {field}.factor {factor:g}")
