"""How a sentence's vector is made of its tokens' vectors: the recipe of sentence-transformers.

`modules.json` lists the modules that run one after the other, each with a folder; that of the
pooling has a `config.json` with one flag a mode (https://sbert.net, `models.Pooling`). A recipe
that is not there, or not understood, is no recipe: the vectors of another one look just as good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.checkpoint.recipe_files import MODULES
from enginewright.errors import InputError, Problem, raise_if_any

MODES: Mapping[str, str] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Flag in a pooling's config to the name of the mode, in the order in which several are joined."""
_NO_EFFECT = {"word_embedding_dimension", "embedding_dimension", "pooling_mode", "include_prompt"}


ACTIVATIONS = ("GELU", "Identity", "ReLU", "SiLU", "Sigmoid", "Tanh")
"""Classes of `torch.nn` without parameters."""


@dataclass(frozen=True)
class DenseLayer:
    weights: str
    """The file with them, by its path in the checkpoint."""
    inputs: int
    outputs: int
    bias: bool
    activation: str
    """One of `ACTIVATIONS`."""


@dataclass(frozen=True)
class EmbeddingRecipe:
    pooling: tuple[str, ...]
    """Names of `MODES`; the vectors of several stand one behind the other."""
    normalized: bool
    """Whether the vector is brought to length 1."""
    dense: tuple[DenseLayer, ...] = ()
    """What the pooled vector goes through, in order."""


@dataclass(frozen=True)
class EmbeddingDescription:
    """The recipe, or why there is none: exactly one of the two."""

    recipe: EmbeddingRecipe | None
    problems: tuple[Problem, ...] = ()

    def required(self) -> EmbeddingRecipe:
        """The recipe; raise `InputError` where there is none."""
        raise_if_any(self.problems)
        assert self.recipe is not None
        return self.recipe


def read_embedding(files: Mapping[str, Path]) -> EmbeddingDescription:
    """From the files of a checkpoint by their paths in it; never raises `InputError`."""
    if MODULES not in files:
        return EmbeddingDescription(None, (_unknown(),))
    try:
        return EmbeddingDescription(_read(canonical_json.read_list(files[MODULES]), files))
    except InputError as error:
        return EmbeddingDescription(None, error.problems)


def _unknown() -> Problem:
    return Problem(
        "nothing says how a sentence's vector is made of its tokens' vectors",
        f"{MODULES} of the checkpoint",
        f"a list of modules, and the config.json of its pooling ({', '.join(MODES.values())})",
        "no such file",
        f"put the checkpoint's {MODULES} and 1_Pooling/config.json beside config.json, or write "
        "them as sentence-transformers does",
    )


def _read(modules: list[Any], files: Mapping[str, Path]) -> EmbeddingRecipe:
    problems: list[Problem] = []
    kinds = [_kind(module) for module in modules]
    pooling: tuple[str, ...] = ()
    layers: list[DenseLayer] = []
    tail = [kind for kind in kinds[2:] if kind != "Dense"]
    is_known = kinds[:2] == ["Transformer", "Pooling"] and tail in ([], ["Normalize"])
    if not is_known or (tail and kinds[-1] != "Normalize"):
        problems.append(
            Problem(
                "the exporter does not know this chain of modules",
                MODULES,
                "Transformer, Pooling, any number of Dense, and Normalize or nothing",
                ", ".join(kinds) or "no modules",
                "no exporter has another chain; export a checkpoint without these modules",
            )
        )
    else:
        folder = str(modules[1].get("path", ""))
        name = f"{folder}/config.json" if folder else "config.json"
        if name in files:
            pooling = _pooling(canonical_json.read_object(files[name]), name, problems)
        else:
            problems.append(
                Problem(
                    "the config of the pooling is missing",
                    f"{MODULES}, `path` of Pooling",
                    name,
                    "no such file beside config.json",
                    "put it there; where `files` or `tokenizer` name the files, name it too",
                )
            )
        dense = [item for item, kind in zip(modules, kinds, strict=True) if kind == "Dense"]
        layers = [
            layer for item in dense if (layer := _dense(str(item.get("path", "")), files, problems))
        ]
    raise_if_any(problems)
    return EmbeddingRecipe(pooling, "Normalize" in kinds, tuple(layers))


def _dense(folder: str, files: Mapping[str, Path], problems: list[Problem]) -> DenseLayer | None:
    name, weights = f"{folder}/config.json", f"{folder}/model.safetensors"
    absent = [path for path in (name, weights) if path not in files]
    if absent:
        what = "files of a dense layer are missing"
        fix = "put them beside config.json; where `files` or `tokenizer` name the files, name them"
        problems.append(Problem(what, MODULES, f"{name}, {weights}", ", ".join(absent), fix))
        return None
    document = canonical_json.read_object(files[name])
    inputs, outputs = document.get("in_features"), document.get("out_features")
    bias = document.get("bias", True)
    activation = str(document.get("activation_function", "Tanh")).rpartition(".")[2]
    known = {"in_features", "out_features", "bias", "activation_function"}
    neutral = {"module_input_name": "sentence_embedding", "module_output_name": None}
    odd = [n for n, v in document.items() if n not in known and (n, v) not in neutral.items()]
    sound = type(inputs) is int and type(outputs) is int and inputs > 0 and outputs > 0
    if odd or activation not in ACTIVATIONS or not isinstance(bias, bool) or not sound:
        what = "the exporter does not know this dense layer"
        expected = f"in_features, out_features, bias, and one of {', '.join(ACTIVATIONS)}"
        problems.append(Problem(what, name, expected, str(document)[:200]))
        return None
    assert isinstance(inputs, int)
    assert isinstance(outputs, int)
    return DenseLayer(weights, inputs, outputs, bias, activation)


def _kind(module: object) -> str:
    """Last part of the class's dotted name; the path before it has changed between versions."""
    kind = module.get("type") if isinstance(module, Mapping) else None
    return kind.rpartition(".")[2] if isinstance(kind, str) else "no type"


def _pooling(document: Mapping[str, Any], where: str, problems: list[Problem]) -> tuple[str, ...]:
    named = document.get("pooling_mode")
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    # A list is joined in its own order; flags in that of the library.
    flags = [name for flag, name in MODES.items() if document.get(flag) is True]
    modes = [*dict.fromkeys([name for name in names if name in MODES.values()] + flags)]
    unknown = [
        name
        for name, value in document.items()
        if name not in _NO_EFFECT and value and (name not in MODES or value is not True)
    ]
    unknown += [f"pooling_mode {name}" for name in names if name not in MODES.values()]
    if document.get("include_prompt") is False:
        unknown.append("include_prompt false")
    if unknown or not modes:
        problems.append(
            Problem(
                "the exporter does not know this pooling",
                where,
                f"one or more of {', '.join(MODES)}; include_prompt true",
                ", ".join(unknown) or "no mode is on",
                "no exporter has it; export a checkpoint with another pooling",
            )
        )
    return tuple(modes)
