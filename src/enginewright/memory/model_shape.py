"""The shape of a decoder: what of its `config.json` decides memory, layer by layer.

Unlike `enginewright.checkpoint.config` this reads any decoder: serving runtimes run far more
of them than can be exported here. What a family says in its own way is data in `families.toml`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.checkpoint.length_limit import (
    LENGTH_FIELDS,
    MAX_TOKENS,
    LengthLimit,
    length_limit,
)
from enginewright.errors import Problem, raise_if_any
from enginewright.memory.config_reader import ConfigReader
from enginewright.memory.families import family, rules, text_type
from enginewright.memory.layer import Layer, LayerKind
from enginewright.memory.layers import model_layers
from enginewright.memory.unread_fields import unread_fields


@dataclass(frozen=True)
class ModelShape:
    """Counts of elements."""

    architecture: str
    model_type: str
    hidden_size: int
    intermediate_size: int
    """Of the widest layer; for mixtures of experts all active experts together."""
    layers: tuple[Layer, ...]
    heads: int
    """Attention heads; where layers differ, the greatest number that divides all of them."""
    vocab_size: int
    dtype: str
    length: LengthLimit
    stored_layers: int
    """Layers of the checkpoint by number; one may hold several attentions."""
    speculative_layers: int
    """Layers after the model's own, which a server loads only to draft tokens with them."""
    doubts: tuple[str, ...] = ()
    """Why bytes are an upper bound; empty where every layer was understood."""
    guesses: tuple[str, ...] = ()
    """Why bytes may be more than that, too."""
    notes: tuple[str, ...] = ()
    """What stood in for fields that the config leaves out."""

    @property
    def exact(self) -> bool:
        return not self.doubts and not self.guesses

    def count(self, *kinds: LayerKind) -> int:
        return sum(layer.kind in kinds for layer in self.layers)

    @property
    def caching_layers(self) -> tuple[Layer, ...]:
        """Those that grow by each token, as long as no window ends that."""
        return tuple(layer for layer in self.layers if layer.token_elements())


def read_model_shape(path: Path) -> ModelShape:
    """Read the `config.json` at `path`; raise `InputError` with all problems."""
    return model_shape(canonical_json.read_object(path), str(path))


def model_shape(document: Mapping[str, Any], where: str) -> ModelShape:
    """The shape of the decoder in a config, multimodal ones too.

    Raises `InputError` with every field that is missing or wrong, and for what is no decoder.
    """
    problems: list[Problem] = []
    architecture = _architecture(document, where, problems)
    config, model_type = _decoder(document)
    reader = ConfigReader(_with_parts(config), where, family(model_type), problems)
    _refuse_encoders(document, config, reader)
    layers = model_layers(reader)
    hidden = reader.count("hidden_size")
    shape = ModelShape(
        architecture=architecture,
        model_type=model_type,
        hidden_size=hidden,
        intermediate_size=_intermediate(reader, len(layers), hidden),
        layers=layers,
        heads=_shared_heads(reader, layers),
        vocab_size=reader.count("vocab_size"),
        dtype=_dtype(config, document),
        length=_length_limit(reader, layers),
        stored_layers=len(layers) // reader.family.attentions_a_layer,
        speculative_layers=_speculative(reader),
        doubts=(*dict.fromkeys([*reader.doubts, *unread_fields(reader, config)]),),
        guesses=(*dict.fromkeys(reader.guesses),),
        notes=_notes(reader),
    )
    raise_if_any(problems)
    return shape


def _architecture(document: Mapping[str, Any], where: str, problems: list[Problem]) -> str:
    missing = [
        name
        for name, kind in (("model_type", str), ("architectures", list))
        if not isinstance(document.get(name), kind) or not document[name]
    ]
    problems += [
        Problem(
            f"field `{name}` is missing",
            f"{where}, {name}",
            "what the transformers library wrote",
            repr(document.get(name))[:80],
            "take config.json from the checkpoint's own repository; runtimes need the field",
        )
        for name in missing
    ]
    return "" if "architectures" in missing else str(document["architectures"][0])[:100]


def _decoder(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The decoder's own fields, and its model type."""
    outer = str(document.get("model_type", ""))
    config = document
    for name in rules()["nested"]["decoders"]:
        inner = config.get(name)
        if isinstance(inner, Mapping):
            config = inner
    if config is document:
        return config, outer
    return config, str(config.get("model_type") or text_type(outer))


def _with_parts(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """With the fields that some families keep in an object of their own."""
    found = {
        name: part[name]
        for holder, names in rules()["nested"]["parts"].items()
        if isinstance(part := config.get(holder), Mapping)
        for name in names
        if name in part
    }
    return {**found, **config}


def _refuse_encoders(
    document: Mapping[str, Any], config: Mapping[str, Any], reader: ConfigReader
) -> None:
    kinds = rules()["refused"]
    model_type = reader.family.model_type
    encoder_decoder = config.get("is_encoder_decoder") is True or (
        document.get("is_encoder_decoder") is True or model_type in kinds["encoder_decoders"]
    )
    if encoder_decoder or model_type in kinds["encoders"]:
        reader.problems.append(
            Problem(
                "an encoder-decoder keeps two caches, which are not computed here"
                if encoder_decoder
                else "an encoder generates no tokens and keeps no cache",
                f"{reader.where}, model_type",
                "a decoder",
                model_type,
            )
        )
    elif model_type in kinds["others"]:
        reader.problems.append(
            Problem(
                "what this model keeps of its tokens is not known here",
                f"{reader.where}, model_type",
                "a model of attention, linear attention or state-space layers",
                f"{model_type}: {kinds['others'][model_type]}",
            )
        )


def _dtype(config: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    for source in (config, document):
        for name in ("dtype", "torch_dtype"):
            value = source.get(name)
            if isinstance(value, str):
                return value.removeprefix("torch.")
    return "float16"


def _intermediate(reader: ConfigReader, layers: int, hidden: int) -> int:
    width = max(reader.counts("intermediate_size", layers, 4 * hidden))
    experts = reader.value("experts")
    if type(experts) is int and 0 < experts <= 1024:
        return experts * max(reader.counts("moe_intermediate_size", layers, width))
    return width


def _speculative(reader: ConfigReader) -> int:
    value = reader.value("speculative_layers")
    return value if type(value) is int and value > 0 else 0


def _shared_heads(reader: ConfigReader, layers: tuple[Layer, ...]) -> int:
    """Of the attention layers; of the state where there are none."""
    if any(layer.token_elements() for layer in layers):
        return math.gcd(*reader.counts("num_attention_heads", len(layers)))
    return math.gcd(*(part.parts for layer in layers for part in layer.state)) or 1


def _length_limit(reader: ConfigReader, layers: tuple[Layer, ...]) -> LengthLimit:
    family_ = reader.family
    left_out = {
        name: family_.defaults[name]
        for name in LENGTH_FIELDS
        if name in family_.defaults and not any(other in reader.config for other in LENGTH_FIELDS)
    }
    limit = length_limit({**left_out, **reader.config}, has_factor=family_.length_has_factor)
    if limit is None and all(layer.window or not layer.token_elements() for layer in layers):
        return LengthLimit(MAX_TOKENS, "no field: what it keeps does not grow")
    if limit is None:
        reader.problems.append(
            Problem(
                "no field limits the context",
                reader.where,
                "one of " + ", ".join(LENGTH_FIELDS),
                fix="add the one that the model's own documentation gives to config.json",
            )
        )
        return LengthLimit(1, "")
    reader.defaults.update(left_out)
    return limit


def _notes(reader: ConfigReader) -> tuple[str, ...]:
    shown = {
        name: value
        for name, value in reader.defaults.items()
        if type(value) is int and type(value) is not bool
    }
    if not shown:
        return ()
    values = ", ".join(f"`{name}` {value}" for name, value in sorted(shown.items()))
    return (f"not in config.json, so the default of transformers 5.24.0: {values}",)


def with_speculation(shape: ModelShape) -> ModelShape:
    """With the layers that draft tokens: each keeps what the last layer with a cache keeps."""
    if not shape.speculative_layers:
        said = "config.json names no layers that draft tokens: what those keep is not counted"
        return replace(shape, doubts=(*shape.doubts, said))
    drafting = shape.caching_layers[-1:] * shape.speculative_layers
    return replace(shape, layers=(*shape.layers, *drafting))


def length_problem(shape: ModelShape, requested: int) -> Problem | None:
    """Why the requested context is longer than the config allows, naming the field that says so."""
    if requested <= shape.length.tokens:
        return None
    return Problem(
        f"{requested} tokens are more than the model was made for",
        f"config.json, {shape.length.source}",
        f"at most {shape.length.tokens}",
        str(requested),
        "ask for less, or extend the context on purpose with rope_scaling in config.json; an "
        "option of the server alone changes nothing",
    )
