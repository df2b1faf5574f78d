"""Feeds sentences to an engine: the prompt, special tokens, padding on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from enginewright import canonical_json
from enginewright.engines.backend import Array, Backend
from enginewright.errors import InputError, Problem
from enginewright.tasks.feature_extraction.signature import ATTENTION_MASK, EMBEDDINGS, INPUT_IDS
from enginewright.tasks.interface import Interface
from enginewright.tasks.padding import pad
from enginewright.tasks.text_tokenizer import TextTokenizer

TOKEN_TYPE_IDS = "token_type_ids"
PROMPTS = "config_sentence_transformers.json"


@dataclass(frozen=True)
class SentenceEncoder:
    tokenizer: TextTokenizer
    prompt: str
    """Goes before each sentence."""

    @classmethod
    def load(
        cls, files: Mapping[str, Path], where: str, prompt_name: str | None = None
    ) -> SentenceEncoder:
        """From `files`, which are by path at `where`; raises `InputError` without a tokenizer, and
        for a prompt's name that the checkpoint does not have.
        """
        return cls(TextTokenizer.load(files, where), find_prompt(files, prompt_name))

    def encode(self, sentence: str) -> list[int]:
        return self.tokenizer.encode(self.prompt + sentence)


def find_prompt(files: Mapping[str, Path], wanted: str | None = None) -> str:
    """That of the name, or of `default_prompt_name`; nothing where the checkpoint names none.

    Raises `InputError` for a name that is not among the prompts.
    """
    path = files.get(PROMPTS)
    document = canonical_json.read_object(path) if path is not None else {}
    name = wanted if wanted is not None else document.get("default_prompt_name")
    if name is None:
        return ""
    prompts = document.get("prompts")
    known = prompts if isinstance(prompts, Mapping) else {}
    if not isinstance(known.get(name), str):
        what = "the prompt is not among the checkpoint's prompts"
        where = f"{path or PROMPTS}, `{'prompts' if wanted else 'default_prompt_name'}`"
        raise InputError(Problem(what, where, ", ".join(known) or "no prompts", repr(name)))
    return str(known[name])


class Feeder:
    def __init__(self, engine: Interface, backend: Backend) -> None:
        """Raises `InputError` for an engine without embeddings, and for inputs not known."""
        engine.output(EMBEDDINGS.name, "embed text")
        known = (INPUT_IDS.name, ATTENTION_MASK.name, TOKEN_TYPE_IDS)
        problems = [
            Problem(f"input `{name}` is not known", engine.where, ", ".join(known))
            for name in engine.names("input")
            if name not in known
        ]
        if problems:
            raise InputError(problems)
        self._backend = backend
        self._dtypes = {
            tensor.name: np.dtype(tensor.dtype)
            for tensor in engine.tensors
            if tensor.mode == "input"
        }

    def embed(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Of token ids: [batch, hidden], or [batch, longest, hidden] where the engine pools not."""
        ids, mask = pad(rows)
        known: dict[str, Array] = {
            INPUT_IDS.name: ids,
            ATTENTION_MASK.name: mask,
            TOKEN_TYPE_IDS: np.zeros_like(ids),
        }
        inputs = {name: known[name].astype(dtype) for name, dtype in self._dtypes.items()}
        outputs, _ = self._backend.run(inputs, [EMBEDDINGS.name])
        return outputs[EMBEDDINGS.name].astype(np.float32)
