"""The numbers of `config.json` that decide memory, for any decoder that follows the usual names.

Unlike `enginewright.checkpoint.config` this knows no architecture by name: serving runtimes run far
more of them than can be exported here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.checkpoint.length_limit import LENGTH_FIELDS, LengthLimit, length_limit
from enginewright.errors import Problem, raise_if_any

MAX_COUNT = 1 << 30


@dataclass(frozen=True)
class ModelShape:
    """Counts of elements; one attention layer caches `cache_width` elements a token and rank."""

    architecture: str
    hidden_size: int
    intermediate_size: int
    """Width of one feed-forward, for mixtures of experts all active experts together."""
    layers: int
    sliding_layers: int
    """Layers of these that look back `sliding_window` tokens only."""
    sliding_window: int
    heads: int
    kv_heads: int
    head_dim: int
    latent_width: int
    """Elements a token of a multi-head latent attention cache; 0 for ordinary attention."""
    vocab_size: int
    dtype: str
    length: LengthLimit


def read_model_shape(path: Path) -> ModelShape:
    """Read the `config.json` at `path`; raise `InputError` with all problems."""
    return model_shape(canonical_json.read_object(path), str(path))


def model_shape(document: Mapping[str, Any], where: str) -> ModelShape:
    """The shape in a config; multimodal configs keep the decoder under `text_config`."""
    config = document.get("text_config")
    config = config if isinstance(config, Mapping) else document
    problems: list[Problem] = []

    def count(*names: str, default: int | None = None) -> int:
        for name in names:
            value = config.get(name)
            if value is None:
                continue
            if type(value) is int and 0 < value <= MAX_COUNT:
                return value
            problems.append(
                Problem("not a count", f"{where}, {name}", f"1 to {MAX_COUNT}", repr(value)[:80])
            )
            return 1
        if default is None:
            problems.append(Problem(f"field `{names[0]}` is missing", where, "a positive integer"))
        return default or 1

    heads = count("num_attention_heads", "n_head", "num_heads")
    hidden = count("hidden_size", "n_embd", "d_model")
    layers = count("num_hidden_layers", "n_layer", "num_layers")
    latent = count("kv_lora_rank", default=0) if config.get("kv_lora_rank") else 0
    shape = ModelShape(
        architecture=_architecture(document, where, problems),
        hidden_size=hidden,
        intermediate_size=_intermediate(config, count, hidden),
        layers=layers,
        sliding_layers=_sliding_layers(config, layers),
        sliding_window=count("sliding_window", default=1),
        heads=heads,
        kv_heads=count("num_key_value_heads", "num_kv_heads", default=heads),
        head_dim=count("head_dim", default=max(hidden // heads, 1)),
        latent_width=latent + count("qk_rope_head_dim", default=64) if latent else 0,
        vocab_size=count("vocab_size"),
        dtype=_dtype(config, document),
        length=_length_limit(config, where, problems),
    )
    if shape.kv_heads > shape.heads or shape.heads % shape.kv_heads:
        problems.append(
            Problem(
                "the attention heads are not a multiple of the KV heads",
                f"{where}, num_key_value_heads",
                f"a divisor of {heads}",
                str(shape.kv_heads),
            )
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


def _dtype(config: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    for source in (config, document):
        for name in ("dtype", "torch_dtype"):
            value = source.get(name)
            if isinstance(value, str):
                return value.removeprefix("torch.")
    return "float16"


def _intermediate(config: Mapping[str, Any], count: Any, hidden: int) -> int:
    experts = config.get("num_experts_per_tok") or config.get("num_experts_per_token")
    width: int = count("intermediate_size", "n_inner", "ffn_hidden_size", default=4 * hidden)
    if type(experts) is int and 0 < experts <= 1024:
        one: int = count("moe_intermediate_size", default=width)
        return one * experts
    return width


def _sliding_layers(config: Mapping[str, Any], layers: int) -> int:
    if not isinstance(config.get("sliding_window"), int):
        return 0
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and len(kinds) == layers:
        return sum(kind in ("sliding_attention", "chunked_attention") for kind in kinds)
    if config.get("model_type") == "mistral":
        return layers
    if config.get("use_sliding_window") is True:
        first = config.get("max_window_layers")
        return max(layers - first, 0) if type(first) is int and first >= 0 else layers
    return 0


def _length_limit(config: Mapping[str, Any], where: str, problems: list[Problem]) -> LengthLimit:
    limit = length_limit(config)
    if limit is None:
        problems.append(
            Problem("no field limits the context", where, "one of " + ", ".join(LENGTH_FIELDS))
        )
        return LengthLimit(1, "")
    return limit


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
