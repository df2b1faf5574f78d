"""What each layer keeps, by the rules of `families.toml`: a word of `[kinds]` for each layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from enginewright.errors import Problem
from enginewright.memory.config_reader import ConfigReader
from enginewright.memory.families import rules

Words = tuple[str, ...]


def layer_words(reader: ConfigReader, layers: int) -> Words:
    """`full`, `sliding`, `state`, `indexed`, `hybrid`, `hybrid_sliding` or `none` for each layer.

    Notes a problem for an entry that no rule knows.
    """
    listed = reader.value("layer_types")
    if not isinstance(listed, list) or not listed:
        return _ruled(reader, layers) or (_without_rule(reader),) * layers
    words = _named(reader, "layer_types", listed, layers)
    ruled = _ruled(reader, layers) if _pattern_is_given(reader) else words
    if ruled is not None and ruled != words:
        reader.doubts.append("the list of layer kinds and the field of their pattern differ")
    return words


def listed_layers(reader: ConfigReader) -> int | None:
    """How many layers a list or a text of layer kinds has; None without one."""
    for name in ("layer_types", "hybrid_override_pattern"):
        value = reader.value(name)
        if isinstance(value, list | str) and value:
            return len(value)
    return None


def _ruled(reader: ConfigReader, layers: int) -> Words | None:
    """By the first rule that says something."""
    for row in rules()["layers"]:
        if _applies(reader, row):
            words = _by_rule(reader, row, layers)
            if words is not None:
                return words
    return None


def _pattern_is_given(reader: ConfigReader) -> bool:
    fields = {row["field"] for row in rules()["layers"] if "field" in row and _applies(reader, row)}
    return any(reader.config.get(name) is not None for name in fields)


def _without_rule(reader: ConfigReader) -> str:
    """As the library: a window that the config has holds for all layers."""
    known = reader.family.in_library or reader.value("use_sliding_window") is True
    listed = isinstance(reader.value("sliding_window"), list)
    return "sliding" if known or listed else "full"


def layer_windows(reader: ConfigReader, layers: int) -> tuple[int, ...]:
    """Tokens that each layer looks back, were it a sliding one; 0 for all of them.

    Qwen's classes drop a window that is not in use, whatever the list of layer kinds says.
    """
    value = reader.value("sliding_window")
    if value is None or reader.value("use_sliding_window") is False:
        return (0,) * layers
    windows = value if isinstance(value, list) else [value] * layers
    if len(windows) != layers or not all(type(item) is int for item in windows if item):
        reader.wrong("sliding_window", f"one number, or one for each of {layers} layers", value)
        return (0,) * layers
    return tuple(max(item or 0, 0) for item in windows)


def _applies(reader: ConfigReader, row: Mapping[str, Any]) -> bool:
    types = row.get("types")
    if types is not None and reader.family.model_type not in types:
        return False
    name = row.get("field")
    return name is None or "default" in row or _has(reader, row)


def _has(reader: ConfigReader, row: Mapping[str, Any]) -> bool:
    names = [row["field"], row.get("every", row["field"])]
    return any(
        reader.config.get(name) is not None or name in reader.family.defaults for name in names
    )


def _named(reader: ConfigReader, field: str, listed: Sequence[Any], layers: int) -> Words:
    kinds = {name: word for word, names in rules()["kinds"].items() for name in names}
    unknown = sorted({str(name)[:40] for name in listed if str(name) not in kinds})
    if unknown:
        reader.problems.append(
            Problem(
                "what a layer of this kind keeps is not known",
                f"{reader.where}, {field}",
                ", ".join(kinds),
                ", ".join(unknown)[:200],
            )
        )
    if len(listed) != layers:
        expected = f"one entry for each of {layers} layers"
        reader.problems.append(
            Problem(
                "the list of layers has another length",
                f"{reader.where}, {field}",
                expected,
                f"{len(listed)} entries",
            )
        )
        return ("full",) * layers
    return tuple(kinds.get(str(name), "full") for name in listed)


def _by_rule(reader: ConfigReader, row: Mapping[str, Any], layers: int) -> Words | None:
    """None where the field has no value that says something."""
    chosen, others = row.get("chosen", "full"), row.get("others", "full")
    if "when" in row and not reader.flag(row["when"]):
        return ("full",) * layers
    value = reader.value(row["field"]) if "field" in row else None
    value = row.get("default") if value is None else value
    rule = row["rule"]
    if rule == "all":
        return (chosen,) * layers
    if rule in ("cycle", "letters"):
        return _spelled(reader, row, value, layers)
    if rule == "flags":
        flags = _flags(reader, row, value, layers)
    elif rule == "listed":
        flags = _listed(reader, row, value, layers)
    else:
        flags = _counted(reader, row, value, layers)
    if flags is None:
        return None
    words = [chosen if flag else others for flag in flags]
    words[: len(row.get("before", ()))] = row.get("before", ())
    if words and "last" in row:
        words[-1] = row["last"]
    if words and "first" in row and rule != "listed":
        words[0] = row["first"]
    return tuple(words[:layers])


def _counted(
    reader: ConfigReader, row: Mapping[str, Any], value: Any, layers: int
) -> list[bool] | None:
    if value == 0 or value is None:
        return None
    number = reader.check(row.get("field", "layers"), value, 1)
    before = len(row.get("before", ()))
    places = range(-before, layers - before)
    if row["rule"] == "last_of_every":
        return [(place + 1) % number == 0 for place in places]
    if row["rule"] == "from_layer":
        return [place >= number for place in places]
    offset = reader.value(row["offset"]) if "offset" in row else 0
    offset = offset if type(offset) is int else 0
    return [place % number == offset for place in places]


def _listed(
    reader: ConfigReader, row: Mapping[str, Any], value: Any, layers: int
) -> list[bool] | None:
    first = row.get("first", 0)
    if not isinstance(value, list):
        return None
    if not all(type(item) is int and first <= item < layers + first for item in value):
        reader.wrong(row["field"], f"layers from {first} to {layers + first - 1}", value)
    chosen = {item for item in value if type(item) is int}
    return [layer + first in chosen for layer in range(layers)]


def _flags(
    reader: ConfigReader, row: Mapping[str, Any], value: Any, layers: int
) -> list[bool] | None:
    if isinstance(value, list) and value:
        if len(value) != layers:
            reader.wrong(row["field"], f"{layers} flags", value)
            return [True] * layers
        return [bool(item) for item in value]
    every = reader.value(row["every"])
    if every is None:
        return None
    number = reader.check(row["every"], every, 1)
    return [(layer + 1) % number != 0 for layer in range(layers)]


def _spelled(reader: ConfigReader, row: Mapping[str, Any], value: Any, layers: int) -> Words | None:
    if row["rule"] == "letters":
        letters = row["letters"]
        if not isinstance(value, str) or len(value) != layers or set(value) - set(letters):
            reader.wrong(row["field"], f"{layers} letters of {' '.join(letters)}", value)
            return ("full",) * layers
        return tuple(letters[letter] for letter in value)
    if not isinstance(value, list) or not value:
        return None
    repeated = [value[layer % len(value)] for layer in range(layers)]
    words = _named(reader, row["field"], repeated, layers)
    return tuple(row.get("attention", word) if word == "full" else word for word in words)
