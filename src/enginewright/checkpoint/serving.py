"""What serving needs to know of a checkpoint, and no graph depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from enginewright.checkpoint.length_limit import LengthLimit, length_limit
from enginewright.checkpoint.recipe_files import (
    GENERATION,
    PROMPTS,
    SENTENCE_LENGTH,
    TOKENIZER,
    read_optional,
)
from enginewright.checkpoint.tokenizer import Vocabulary, read_vocabulary
from enginewright.errors import Problem, raise_if_any

CONFIG = "config.json"


@dataclass(frozen=True)
class TokenIds:
    ids: tuple[int, ...]
    """In the order in which the files name them; empty where none does."""
    source: tuple[str, ...]
    """The files that name them."""


@dataclass(frozen=True)
class Serving:
    """Counts are of tokens; ids are numbers of rows of the embedding."""

    stop: TokenIds
    """Generation ends with any of these: those of `config.json` and `generation_config.json`."""
    begin: TokenIds
    """What a text begins with; the tokenizer's own rule counts where it has one."""
    pad: TokenIds
    vocab_size: int | None
    """Rows of the embedding; None for an architecture that is not known."""
    vocabulary: Vocabulary | None
    """Of `tokenizer.json`; None where there is none."""
    length: LengthLimit | None
    """The longest context that the config allows."""
    sentence_length: int | None = None
    """Where sentence-transformers cuts a text (`max_seq_length`)."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Texts to put before an input, by the name of the use."""
    default_prompt: str | None = None

    def warnings(self) -> list[str]:
        """What the build says of it."""
        found = []
        if self.vocabulary is not None and self.vocab_size is not None:
            found += self.vocabulary.warnings(self.vocab_size)
        beyond = [i for i in self.stop.ids if self.vocab_size is not None and i >= self.vocab_size]
        if beyond:
            found.append(
                f"stop token {beyond[0]} ({', '.join(self.stop.source)}) is beyond the model's "
                f"vocabulary, which ends at {(self.vocab_size or 0) - 1}: it can never be generated"
            )
        return found

    def no_stop_warning(self) -> str:
        """What to say of a model that generates text, when no file names a stop token."""
        return (
            "no stop token is known, so generation ends by length only: `eos_token_id` is neither "
            f"in {CONFIG} nor in {GENERATION}"
        )


def read_serving(
    config: Mapping[str, Any], vocab_size: int | None, files: Mapping[str, Path]
) -> Serving:
    """From the whole `config.json`, and the other files by their paths in the checkpoint.

    Raises `InputError` for a file that cannot be read, and for a token that is no id.
    """
    generation = read_optional(files, GENERATION)
    prompts = read_optional(files, PROMPTS)
    given = prompts.get("prompts")
    texts = {str(k): v for k, v in given.items() if isinstance(v, str)} if given else {}
    default = prompts.get("default_prompt_name")
    cut = read_optional(files, SENTENCE_LENGTH).get("max_seq_length")
    return Serving(
        stop=_ids("eos_token_id", {CONFIG: config, GENERATION: generation}),
        begin=_one("bos_token_id", config, generation),
        pad=_one("pad_token_id", config, generation),
        vocab_size=vocab_size,
        vocabulary=read_vocabulary(files[TOKENIZER]) if TOKENIZER in files else None,
        length=length_limit(config),
        sentence_length=cut if type(cut) is int and cut > 0 else None,
        prompts=texts,
        default_prompt=default if isinstance(default, str) else None,
    )


def _one(name: str, config: Mapping[str, Any], generation: Mapping[str, Any]) -> TokenIds:
    """Of the file that is about generation, else of the config."""
    found = _ids(name, {GENERATION: generation})
    return found if found.ids else _ids(name, {CONFIG: config})


def _ids(name: str, documents: Mapping[str, Mapping[str, Any]]) -> TokenIds:
    """All ids that one of the documents names."""
    ids: list[int] = []
    sources, problems = [], []
    for file, document in documents.items():
        value = document.get(name)
        values = value if isinstance(value, list) else [] if value is None else [value]
        if not all(type(item) is int for item in values):
            problems.append(
                Problem("not the id of a token", f"{file}, `{name}`", "a number", repr(value)[:80])
            )
            continue
        # A negative id is how some configs say that there is none.
        found = [item for item in values if item >= 0]
        ids += [item for item in found if item not in ids]
        sources += [file] if found else []
    raise_if_any(problems)
    return TokenIds(tuple(ids), tuple(sources))
