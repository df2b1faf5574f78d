"""The layers of a model, each with the sizes of what it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from enginewright.errors import Problem
from enginewright.memory.config_reader import ConfigReader
from enginewright.memory.families import rules
from enginewright.memory.fixed_state import State, fixed_state
from enginewright.memory.layer import Layer, LayerKind
from enginewright.memory.layer_kinds import layer_windows, layer_words, listed_layers

MAX_LAYERS = 4096
_STATE_WORDS = ("state", "hybrid", "hybrid_sliding")


def model_layers(reader: ConfigReader) -> tuple[Layer, ...]:
    """Every layer; notes problems and doubts in `reader`."""
    if "block_configs" in reader.config:
        return _blocks(reader)
    count = min(reader.count("num_hidden_layers", listed_layers(reader)), MAX_LAYERS)
    count *= reader.family.attentions_a_layer
    words = layer_words(reader, count)
    state = fixed_state(reader) if {*words} & {*_STATE_WORDS} else None
    attends = {*words} - {"state", "none"}
    heads = _heads(reader, words) if attends else [_Heads(0, 0, 0)] * count
    layers = tuple(_layer(word, item, state) for word, item in zip(words, heads, strict=True))
    if not reader.family.compared:
        reader.doubts.append(
            f"layers of model type `{reader.family.model_type}` were never compared with a cache"
        )
    if reader.family.documented:
        reader.guesses.append(
            f"layers of model type `{reader.family.model_type}` are read after a document "
            f"({reader.family.documented}), and were never compared with a cache"
        )
    return _shared(reader, layers)


@dataclass(frozen=True)
class _Heads:
    """What one layer would keep of a token, were it attention."""

    kv_heads: int
    key_dim: int
    value_dim: int
    window: int = 0
    latent_width: int = 0
    index_width: int = 0


def _layer(word: str, heads: _Heads, state: State | None) -> Layer:
    if word == "none":
        return Layer(LayerKind.NONE)
    kind, tensors = state if state and word in _STATE_WORDS else (LayerKind.LINEAR, ())
    if word == "state":
        return Layer(kind, state=tensors)
    index = heads.index_width if word == "indexed" else 0
    if heads.latent_width:
        return Layer(
            LayerKind.LATENT, latent_width=heads.latent_width, index_width=index, state=tensors
        )
    sliding = word in ("sliding", "hybrid_sliding") and heads.window > 0
    return Layer(
        LayerKind.SLIDING if sliding else LayerKind.FULL,
        heads.kv_heads,
        heads.key_dim,
        heads.value_dim,
        heads.window if sliding else 0,
        index_width=index,
        state=tensors,
    )


def _heads(reader: ConfigReader, words: tuple[str, ...]) -> list[_Heads]:
    """The sizes for each layer; layers of one kind and single layers may have their own."""
    layers = len(words)
    queries = reader.counts("num_attention_heads", layers)
    kv_heads = _kv_heads(reader, queries)
    dims = _head_dims(reader, queries)
    if reader.value("kv_lora_rank") is not None:
        heads = [_latent(reader, number) for number in queries]
    else:
        value_dim = reader.value("v_head_dim")
        value_dims = (
            (reader.check("v_head_dim", value_dim),) * layers if value_dim is not None else dims
        )
        heads = [_Heads(*sizes) for sizes in zip(kv_heads, dims, value_dims, strict=True)]
    heads = [
        replace(item, window=window)
        for item, window in zip(heads, layer_windows(reader, layers), strict=True)
    ]
    index = reader.count("index_head_dim", 1) if "indexed" in words else 0
    heads = [replace(item, index_width=index) for item in heads]
    times = reader.family.sliding_kv_heads_times
    heads = [
        replace(item, kv_heads=item.kv_heads * (times if word == "sliding" else 1))
        for word, item in zip(words, heads, strict=True)
    ]
    for row in rules()["only"]:
        heads = _only(reader, row, words, heads)
    _check_division(reader, queries, heads)
    return _single_layers(reader, heads)


def _kv_heads(reader: ConfigReader, queries: tuple[int, ...]) -> tuple[int, ...]:
    """Where no field says it, as many as attention heads."""
    for row in rules()["kv_heads"]:
        if reader.value(row["flag"]) == row["is"]:
            if "count" in row:
                reader.read.update(("num_kv_heads", "num_key_value_heads", "n_head_kv"))
                return (row["count"],) * len(queries)
            return _filled(reader, row["field"], queries)
    return _filled(reader, "num_key_value_heads", queries)


def _filled(reader: ConfigReader, meaning: str, queries: tuple[int, ...]) -> tuple[int, ...]:
    if reader.value(meaning) is None:
        return queries
    return reader.counts(meaning, len(queries))


def _head_dims(reader: ConfigReader, queries: tuple[int, ...]) -> tuple[int, ...]:
    """The field, or what follows from the hidden size."""
    value = reader.value("head_dim")
    if value is not None:
        return reader.counts("head_dim", len(queries))
    if not reader.family.compared and not reader.family.in_library:
        reader.guesses.append("`head_dim` is missing, and taken as `hidden_size` by the heads")
    hidden = reader.count("hidden_size") * reader.family.head_dim_of_hidden
    return tuple(max(hidden // number, 1) for number in queries)


def _latent(reader: ConfigReader, queries: int) -> _Heads:
    """One vector a token for a server that knows it, else whole keys and values for each head."""
    rank, rotary = reader.count("kv_lora_rank"), reader.count("qk_rope_head_dim", 64)
    rest, value = reader.value("qk_nope_head_dim"), reader.value("v_head_dim")
    if reader.family.latent:
        return _Heads(0, 0, 0, latent_width=rank + rotary)
    if not reader.family.compared:
        reader.doubts.append(
            f"whether a server keeps the latent vector of model type `{reader.family.model_type}` "
            "is not known: whole keys and values are counted"
        )
    key = reader.check("qk_nope_head_dim", rest) + rotary
    return _Heads(queries, key, reader.check("v_head_dim", value))


def _only(
    reader: ConfigReader,
    row: Mapping[str, Any],
    words: tuple[str, ...],
    heads: list[_Heads],
) -> list[_Heads]:
    """Fields of the layers of one kind, such as `swa_head_dim`."""
    changes: dict[str, int] = {}
    for part, target in (
        ("kv_heads", "kv_heads"),
        ("head_dim", "key_dim"),
        ("value_dim", "value_dim"),
    ):
        if part not in row:
            continue
        value = reader.value(row[part])
        switch = row.get(f"{part}_when")
        if value is None or (switch in reader.family.fields and not reader.flag(switch)):
            continue
        changes[target] = reader.check(row[part], value)
        if part == "head_dim":
            changes.setdefault("value_dim", changes[target])
    return [
        replace(item, **changes) if word == row["kind"] and not item.latent_width else item
        for word, item in zip(words, heads, strict=True)
    ]


def _single_layers(reader: ConfigReader, heads: list[_Heads]) -> list[_Heads]:
    """`per_layer_config` of transformers 5: fields of single layers."""
    overrides = reader.value("per_layer_config")
    if not isinstance(overrides, Mapping):
        return heads
    known = {"num_key_value_heads": "kv_heads", "sliding_window": "window"}
    for name, fields in overrides.items():
        place = int(name) if str(name).isdigit() else -1
        if not 0 <= place < len(heads) or not isinstance(fields, Mapping):
            reader.wrong(
                f"per_layer_config.{name}", f"fields of a layer below {len(heads)}", fields
            )
            continue
        for field, value in fields.items():
            at = f"per_layer_config.{name}.{field}"
            if field == "head_dim":
                size = reader.check(at, value)
                heads[place] = replace(heads[place], key_dim=size, value_dim=size)
            elif field in known:
                heads[place] = replace(heads[place], **{known[field]: reader.check(at, value)})
            elif field not in ("num_attention_heads", "intermediate_size"):
                reader.doubts.append(f"`per_layer_config.*.{field}` is not read")
    return heads


def _check_division(reader: ConfigReader, queries: tuple[int, ...], heads: list[_Heads]) -> None:
    for number, item in zip(queries, heads, strict=True):
        if item.kv_heads > number or (item.kv_heads and number % item.kv_heads):
            reader.problems.append(
                Problem(
                    "the attention heads are not a multiple of the KV heads",
                    f"{reader.where}, num_key_value_heads",
                    f"a divisor of {number}",
                    str(item.kv_heads),
                )
            )
            return


def _shared(reader: ConfigReader, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The last `num_kv_shared_layers` read what an earlier layer keeps."""
    value = reader.value("num_kv_shared_layers")
    if value is None or value == 0:
        return layers
    shared = min(reader.check("num_kv_shared_layers", value), len(layers))
    kept = len(layers) - shared
    return (*layers[:kept], *(Layer(LayerKind.SHARED) for _ in layers[kept:]))


def _blocks(reader: ConfigReader) -> tuple[Layer, ...]:
    """`block_configs` of searched architectures: heads a group, or no attention, for each layer."""
    blocks = reader.value("block_configs")
    count = reader.count("num_hidden_layers")
    if not isinstance(blocks, list) or len(blocks) != count:
        reader.wrong("block_configs", f"{count} blocks", blocks)
        return (Layer(LayerKind.NONE),)
    heads = reader.count("num_attention_heads")
    size = reader.count("head_dim", max(reader.count("hidden_size") // heads, 1))
    layers = []
    for number, block in enumerate(blocks):
        attention = block.get("attention") if isinstance(block, Mapping) else None
        attention = attention if isinstance(attention, Mapping) else {}
        if attention.get("no_op") or attention.get("replace_with_linear"):
            layers.append(Layer(LayerKind.NONE))
            continue
        name = f"block_configs[{number}].attention.n_heads_in_group"
        group = reader.check(name, attention.get("n_heads_in_group"))
        if heads % group:
            reader.wrong(name, f"a divisor of {heads}", group)
        layers.append(Layer(LayerKind.FULL, max(heads // group, 1), size, size))
    if not reader.family.compared:
        reader.doubts.append("`block_configs` was never compared with a cache")
    return tuple(layers)
