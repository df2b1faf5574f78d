"""What a checkpoint does with the states of its tokens, as its `modules.json` says.

The reference's own reading: the exporters have theirs, and a test compares the two. File formats
and arithmetic follow sentence-transformers (https://sbert.net), modules Transformer, Pooling and
Normalize.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from enginewright import canonical_json
from enginewright.errors import InputError, Problem, raise_if_any

MODULES = "modules.json"
SUPPORTED = ("Transformer", "Pooling", "Dense", "Normalize")
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
_OLD_NAMES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


@dataclass(frozen=True)
class Pooling:
    modes: tuple[str, ...]
    """Of `MODES`; what several give is joined."""
    normalize: bool
    source: str
    """Which file says so, or that none does."""
    prompt: str = ""
    longest: int | None = None
    """Tokens that a sentence is cut to; None where no file says so."""
    dense: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = ()
    """Layers after the pooling."""

    @property
    def description(self) -> str:
        length = ", normalised" if self.normalize else ""
        dense = f", {len(self.dense)} dense layers" if self.dense else ""
        return f"{' and '.join(self.modes)} pooling{dense}{length}; {self.source}"

    def apply(self, states: torch.Tensor) -> torch.Tensor:
        """States [tokens, hidden] of one sentence without padding -> [hidden of all modes]."""
        vector = torch.cat([_POOL[mode](states) for mode in self.modes])
        for layer in self.dense:
            vector = layer(vector)
        return torch.nn.functional.normalize(vector, dim=0) if self.normalize else vector


def _weighted_mean(states: torch.Tensor) -> torch.Tensor:
    weights = torch.arange(1, len(states) + 1, dtype=states.dtype)[:, None]
    return (states * weights).sum(0) / weights.sum()


_POOL: Mapping[str, Any] = {
    "cls": lambda states: states[0],
    "max": lambda states: states.max(0).values,
    "mean": lambda states: states.mean(0),
    "mean_sqrt_len_tokens": lambda states: states.sum(0) / len(states) ** 0.5,
    "weightedmean": _weighted_mean,
    "lasttoken": lambda states: states[-1],
}

ASSUMED = "ASSUMED, for the checkpoint has no modules.json: another pooling would not be seen"


def read_pooling(files: Mapping[str, Path]) -> Pooling:
    """From the files of a checkpoint by path; raises `InputError` for what it does not know.

    Without `modules.json`: the mean, normalised, and `source` says that this is assumed.
    """
    path = files.get(MODULES)
    if path is None:
        return Pooling(("mean",), True, ASSUMED)
    modules = _read_modules(path)
    kinds = [kind for kind, _ in modules]
    unknown = [kind for kind in kinds if kind not in SUPPORTED]
    raise_if_any(
        [
            Problem(
                "the reference does not know this module of sentence-transformers",
                str(path),
                ", ".join(SUPPORTED),
                kind,
                "such a model cannot be compared: leave out `reference`, or take another",
            )
            for kind in unknown
        ]
    )
    rest = kinds[2:-1] if kinds[-1:] == ["Normalize"] else kinds[2:]
    if kinds[:2] != ["Transformer", "Pooling"] or any(kind != "Dense" for kind in rest):
        expected = "Transformer, Pooling, any number of Dense, and at most Normalize after them"
        what = "the reference does not know this chain of modules"
        raise InputError(Problem(what, str(path), expected, ", ".join(kinds) or "no modules"))
    folders = dict(modules)
    return Pooling(
        _read_modes(files, f"{folders['Pooling']}/config.json"),
        "Normalize" in kinds,
        f"from {MODULES}",
        _read_prompt(files),
        _read_longest(files),
        tuple(_read_dense(files, folder) for kind, folder in modules if kind == "Dense"),
    )


def _read_dense(files: Mapping[str, Path], folder: str) -> Callable[[torch.Tensor], torch.Tensor]:
    absent = [n for n in ("config.json", "model.safetensors") if f"{folder}/{n}" not in files]
    if absent:
        what = "files of a dense layer are not among the checkpoint's"
        raise InputError(Problem(what, f"{MODULES}, {folder}", ", ".join(absent), "absent"))
    document = canonical_json.read_object(files[f"{folder}/config.json"])
    tensors = load_file(files[f"{folder}/model.safetensors"])
    dotted = str(document.get("activation_function", "torch.nn.modules.activation.Tanh"))
    if not dotted.startswith("torch.nn."):
        what = "the reference does not know this activation"
        raise InputError(Problem(what, f"{folder}/config.json", "one of torch.nn", dotted))
    activation = getattr(torch.nn, dotted.rpartition(".")[2])()

    def apply(vector: torch.Tensor) -> torch.Tensor:
        weight, bias = tensors["linear.weight"].float(), tensors.get("linear.bias")
        found: torch.Tensor = activation(
            torch.nn.functional.linear(vector, weight, None if bias is None else bias.float())
        )
        return found

    return apply


def _read_modules(path: Path) -> list[tuple[str, str]]:
    """Kind and folder of each module, in order."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return [(str(item["type"]).rsplit(".", 1)[-1], str(item["path"])) for item in document]
    except (ValueError, KeyError, TypeError) as error:
        expected = "a list of objects with `type` and `path`"
        raise InputError(Problem("not a list of modules", str(path), expected)) from error


def _read_modes(files: Mapping[str, Path], name: str) -> tuple[str, ...]:
    path = files.get(name)
    if path is None:
        fix = f'add "{name}" to the field `tokenizer` of the checkpoint'
        present = ", ".join(sorted(files))
        what = "the checkpoint's pooling is not among its files"
        raise InputError(Problem(what, MODULES, name, present, fix))
    document = canonical_json.read_object(path)
    said = document.get("pooling_mode")
    if said is not None:
        modes = [said] if isinstance(said, str) else [*said]
    else:
        modes = [mode for field, mode in _OLD_NAMES.items() if document.get(field) is True]
    named = [*_fields_of_modes(document)]
    problems = [
        Problem("unknown pooling", str(path), ", ".join(MODES), str(mode))
        for mode in (*modes, *named)
        if mode not in MODES
    ]
    if not modes:
        problems.append(Problem("no pooling is chosen", str(path), " or ".join(MODES)))
    if document.get("include_prompt") is False and _read_prompt(files):
        what = "the reference cannot leave a prompt out of its pooling"
        problems.append(Problem(what, f"{path}, `include_prompt`", "true", "false"))
    raise_if_any(problems)
    return tuple(modes)


def _fields_of_modes(document: Mapping[str, Any]) -> Sequence[str]:
    """Modes that are switched on by a field that is not known."""
    return [
        field
        for field, value in document.items()
        if field.startswith("pooling_mode_") and value is True and field not in _OLD_NAMES
    ]


def _read_prompt(files: Mapping[str, Path]) -> str:
    path = files.get("config_sentence_transformers.json")
    document = canonical_json.read_object(path) if path is not None else {}
    name = document.get("default_prompt_name")
    return "" if name is None else str(document["prompts"][name])


def _read_longest(files: Mapping[str, Path]) -> int | None:
    path = files.get("sentence_bert_config.json")
    document = canonical_json.read_object(path) if path is not None else {}
    if document.get("do_lower_case"):
        what = "the reference does not know a text that is made lower-case before its tokenizer"
        raise InputError(Problem(what, f"{path}, `do_lower_case`", "false", "true"))
    longest = document.get("max_seq_length")
    return longest if isinstance(longest, int) and longest > 0 else None
