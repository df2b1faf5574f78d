"""Which layers of a decoder see how much, by the rules of each family's configuration class."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.checkpoint.config_fields import Fields
from enginewright.checkpoint.library_defaults import library_default
from enginewright.families.family import DecoderFamily

FULL, SLIDING = "full_attention", "sliding_attention"
_OLD_NAMES = {"attention": FULL}
"""Names that transformers reads as newer ones (`_LEGACY_LAYER_TYPE_REMAP`)."""


@dataclass(frozen=True)
class Layer:
    kind: str
    """`full_attention` or `sliding_attention`."""
    window: int | None
    """Keys that a query sees, its own included; None is all before it."""


def read_layers(fields: Fields, family: DecoderFamily, count: int) -> tuple[Layer, ...]:
    """One for each layer; what contradicts itself is noted."""
    window = _window(fields, family)
    given = _given_kinds(fields, count)
    if family.layer_types:
        kinds = given or _by_number(fields, count, window)
    else:
        kinds = (FULL if window is None else SLIDING,) * count
    if given and (given != kinds or (SLIDING in kinds and window is None)):
        names = f"`layer_types` and {_window_fields(family)}"
        said = ", ".join(sorted(set(given)))
        fields.contradiction(names, _meaning(family, window), said)
    return tuple(Layer(kind, window if kind == SLIDING else None) for kind in kinds)


def _window(fields: Fields, family: DecoderFamily) -> int | None:
    """The window of the layers that slide; what the library takes for a field that is not there."""
    if family.window == "never":
        return None
    if family.window == "use_sliding_window" and not fields.flag("use_sliding_window", False):
        return None
    if "sliding_window" not in fields.document:
        default = library_default(family.model_type, "sliding_window")
        return default if isinstance(default, int) else None
    if fields.document["sliding_window"] is None:
        return None
    window = fields.count("sliding_window")
    if not fields.flag("use_sliding_window", True):
        names, actual = "`use_sliding_window` and `sliding_window`", f"false and {window}"
        fields.contradiction(names, f"true, as `{family.model_type}` always has its window", actual)
    return window


def _given_kinds(fields: Fields, count: int) -> tuple[str, ...]:
    given = fields.document.get("layer_types")
    if given is None:
        return ()
    kinds = tuple(_OLD_NAMES.get(kind, kind) for kind in given) if _is_texts(given) else ()
    if len(kinds) != count or not {*kinds} <= {FULL, SLIDING}:
        fields.wrong("layer_types", f"{count} of {FULL} and {SLIDING}, one for each layer")
        return ()
    return kinds


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _by_number(fields: Fields, count: int, window: int | None) -> tuple[str, ...]:
    if window is None:
        return (FULL,) * count
    first = fields.document.get("max_window_layers", 28)
    if type(first) is not int or first < 0:
        fields.wrong("max_window_layers", "a whole number, the first layer with a window")
        first = 0
    return tuple(FULL if number < first else SLIDING for number in range(count))


def _window_fields(family: DecoderFamily) -> str:
    names = ["sliding_window"]
    if family.window == "use_sliding_window":
        names.append("use_sliding_window")
    return " and ".join(f"`{name}`" for name in names) if family.window != "never" else "the family"


def _meaning(family: DecoderFamily, window: int | None) -> str:
    if window is None:
        return f"{FULL} in every layer, as no window is in use"
    return f"{SLIDING} in every layer, as all layers of `{family.model_type}` have the window"
