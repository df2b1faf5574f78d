"""Rotary position embedding as `config.json` declares it, by the rules of transformers 5.24.

`RotaryEmbeddingConfigMixin` there takes `rope_scaling` where it is not empty, else
`rope_parameters`; the base is the field `rope_theta` inside, else the one beside it, else 10000.
Where two fields say different things one of them is not what the weights were trained with, and
other readers take the other one: that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enginewright.checkpoint.config_fields import Fields

DEFAULT_ROPE_THETA = 10000.0
ROPE_TYPES: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "llama3": (
        "factor",
        "high_freq_factor",
        "low_freq_factor",
        "original_max_position_embeddings",
    ),
    "yarn": (
        "attention_factor",
        "beta_fast",
        "beta_slow",
        "factor",
        "mscale",
        "mscale_all_dim",
        "original_max_position_embeddings",
        "truncate",
    ),
}
"""Types that can be exported, and the fields that each of them reads."""
_EVERY_TYPE = {"rope_theta", "rope_type", "type", "partial_rotary_factor"}
_NOTES = {"finetuned"}
"""Fields that no implementation reads."""
_BESIDE = ("original_max_position_embeddings", "partial_rotary_factor", "rope_theta")
"""Fields that a config may have inside the object, or beside it."""
_ONE = "one of them, or the same in both"


@dataclass(frozen=True)
class RopeSettings:
    """Rotary position embedding."""

    theta: float
    """Base wavelength."""
    rope_type: str = "default"
    """A key of `ROPE_TYPES`, or another type of transformers, which no exporter has."""
    factor: float | None = None
    original_max_position_embeddings: int | None = None
    partial: float = 1.0
    """Part of each head that is rotated. The library ignores it for the type `default`."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What the type reads, as the config has it."""


def read_rope(fields: Fields) -> RopeSettings:
    """The settings; what is wrong and what contradicts itself is noted."""
    nested = _chosen(fields)
    values = {name: nested.document.get(name) for name in _BESIDE}
    for name in _BESIDE:
        outside = fields.document.get(name)
        if values[name] is None:
            values[name] = outside
        elif outside is not None and outside != values[name]:
            names = f"`{nested.parent}{name}` and `{name}`"
            fields.contradiction(names, _ONE, f"{values[name]} and {outside}")
    kind = _type(nested)
    for name, value in nested.document.items():
        if isinstance(value, Mapping):
            nested.wrong(name, "a number: the family has one rotary embedding for all layers")
    place = {name: nested if nested.document.get(name) is not None else fields for name in _BESIDE}
    partial = place["partial_rotary_factor"].number("partial_rotary_factor", 1.0)
    if partial != 1 and kind != "default":
        expected = f"1: rope type `{kind}` rotates whole heads"
        place["partial_rotary_factor"].wrong("partial_rotary_factor", expected)
    original = values["original_max_position_embeddings"]
    reads = ROPE_TYPES.get(kind, tuple(nested.document))
    parameters = {
        name: value
        for name, value in {**nested.document, **values}.items()
        if name in reads and value is not None
    }
    return RopeSettings(
        theta=place["rope_theta"].number("rope_theta", DEFAULT_ROPE_THETA),
        rope_type=kind,
        factor=nested.number("factor") if parameters.get("factor") is not None else None,
        original_max_position_embeddings=(
            place["original_max_position_embeddings"].count("original_max_position_embeddings")
            if original is not None
            else None
        ),
        partial=partial,
        parameters=parameters,
    )


def unread_rope_fields(document: Mapping[str, Any]) -> dict[str, bool]:
    """Fields of the object that its type does not read; true where another type reads them."""
    name = "rope_scaling" if document.get("rope_scaling") else "rope_parameters"
    settings = document.get(name)
    if not isinstance(settings, Mapping):
        return {}
    kind = settings.get("rope_type", settings.get("type", "default"))
    known = {*_EVERY_TYPE, *_NOTES, *ROPE_TYPES.get(str(kind), tuple(settings))}
    elsewhere = {field for fields in ROPE_TYPES.values() for field in fields}
    return {
        f"{name}.{field}": field in elsewhere
        for field, value in settings.items()
        if field not in known and value is not None
    }


def _chosen(fields: Fields) -> Fields:
    """The object that counts; both may be there when they say the same."""
    old, new = fields.nested("rope_scaling"), fields.nested("rope_parameters")
    if old.document and new.document:
        one, other = (_effective(fields, nested.document) for nested in (old, new))
        if one != other:
            names = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
            said = ", ".join(f"{name} {one.get(name)} and {other.get(name)}" for name in names)
            fields.contradiction("`rope_scaling` and `rope_parameters`", _ONE, said)
    return old if old.document else new


def _effective(fields: Fields, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All that one of the two objects would mean were it alone."""
    beside = {name: fields.document.get(name) for name in _BESIDE}
    merged = {"rope_theta": DEFAULT_ROPE_THETA, **_given(beside), **_given(settings)}
    kind = merged.pop("rope_type", merged.pop("type", "default"))
    merged.pop("type", None)
    if merged.get("partial_rotary_factor") == 1:
        del merged["partial_rotary_factor"]
    return {"rope_type": kind, **{k: v for k, v in merged.items() if k not in _NOTES}}


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _type(nested: Fields) -> str:
    kind = nested.text("rope_type", nested.text("type", "default"))
    # "type" is the spelling of the first configs that had scaling at all.
    old = nested.document.get("type")
    if isinstance(old, str) and old != kind:
        parent = nested.parent
        names = f"`{parent}rope_type` and `{parent}type`"
        nested.contradiction(names, _ONE, f"{kind} and {old}")
    return kind
