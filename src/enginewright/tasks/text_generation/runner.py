"""Generates text after a prompt: `run DIR --prompt TEXT`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from enginewright.engines.backend import Greedy
from enginewright.errors import InputError, Problem
from enginewright.run.argument import Argument
from enginewright.run.figures import Report, memory, memory_text
from enginewright.run.opened import OpenedEngine
from enginewright.tasks.text_generation.decoder import make_decoder
from enginewright.tasks.text_generation.feed import Feeder
from enginewright.tasks.text_generation.generation import (
    GenerationSettings,
    check_prompts,
    generate,
    generate_greedily,
)
from enginewright.tasks.text_generation.sampling import SamplingSettings
from enginewright.tasks.text_generation.text_stream import TextStream
from enginewright.tasks.text_tokenizer import TextTokenizer

TITLE = "generate text"
ARGUMENTS = (
    Argument("--prompt", "generate text after this one"),
    Argument("--max-tokens", "default 128", int),
    Argument("--temperature", "0, the default, is the likeliest token", float),
    Argument("--top-k", "0, the default, is all tokens", int),
    Argument("--top-p", "default 1", float),
    Argument("--seed", "same seed, same text; default 0", int),
    Argument("--stop", "end before this text; may be given several times", is_repeated=True),
)
_SAMPLING = ("temperature", "top_k", "top_p", "seed")


def check(given: Mapping[str, Any]) -> None:
    """Raise `InputError` without a prompt, and for settings out of range."""
    if "prompt" not in given:
        raise InputError(Problem("nothing to generate from", "the command line", "--prompt TEXT"))
    _settings(given, frozenset())


def _settings(given: Mapping[str, Any], end_tokens: frozenset[int]) -> GenerationSettings:
    sampling = SamplingSettings(**{name: given[name] for name in _SAMPLING if name in given})
    return GenerationSettings(given.get("max_tokens", 128), end_tokens, sampling)


def run(engine: OpenedEngine, given: Mapping[str, Any], stream: TextIO | None) -> Report:
    """Raises `InputError` for a prompt that the engine cannot read."""
    tokenizer = TextTokenizer.load(engine.files, engine.interface.where)
    prompt = tokenizer.encode(given["prompt"])
    check_prompts(engine.interface.limits, [prompt])
    vocabulary = Feeder(engine.interface, engine.backend).vocabulary
    tokenizer.check_vocabulary(prompt, vocabulary)
    settings = _settings(given, frozenset(engine.stop))
    text_stream = TextStream(tokenizer.tokenizer, given.get("stop", ()))
    return _Generation(engine, text_stream, stream).run(prompt, settings)


@dataclass
class _Generation:
    engine: OpenedEngine
    text_stream: TextStream
    stream: TextIO | None
    pieces: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def run(self, prompt: Sequence[int], settings: GenerationSettings) -> Report:
        full = self.engine.interface.limits.total_sequence
        steps = self._steps(prompt, settings, full)
        begin = time.monotonic()
        first = None
        for (token,) in steps:
            if token is None:
                break
            first = first or time.monotonic()
            self.tokens.append(token)
            self._emit(self.text_stream.add(token))
            if self.text_stream.stopped:
                break
        end = time.monotonic()
        self._emit(self.text_stream.finish())
        if self.stream is not None:
            print(file=self.stream)
        # The first token comes with the prompt's own pass, the others one a pass.
        rest = len(self.tokens) - 1
        rate = rest / (end - first) if first and rest > 0 else 0.0
        return self._report(
            {
                "text": "".join(self.pieces),
                "tokens": self.tokens,
                "prompt_tokens": len(prompt),
                "finish_reason": self._reason(len(prompt), settings.max_tokens, full),
                "prompt_seconds": round((first or end) - begin, 4),
                "tokens_per_second": round(rate, 2),
            }
        )

    def _steps(
        self, prompt: Sequence[int], settings: GenerationSettings, full: int | None
    ) -> Iterator[tuple[int | None, ...]]:
        backend = self.engine.backend
        if settings.sampling.temperature == 0 and isinstance(backend, Greedy):
            return generate_greedily(backend, prompt, settings, full)
        decoder = make_decoder(self.engine.interface, backend)
        return generate(decoder, [prompt], settings, full)

    def _emit(self, text: str) -> None:
        self.pieces.append(text)
        if self.stream is not None:
            print(text, end="", file=self.stream, flush=True)

    def _reason(self, prompt: int, most: int, full: int | None) -> str:
        if self.text_stream.stopped:
            return "stop text"
        made = len(self.tokens)
        return "length" if made == most or (full and prompt + made >= full) else "end of text"

    def _report(self, document: Mapping[str, Any]) -> Report:
        figures = (
            f"{document['prompt_tokens']} tokens read in {document['prompt_seconds']} s, "
            f"{len(self.tokens)} generated at {document['tokens_per_second']:.1f} tokens/s, "
            f"ended by {document['finish_reason']}, {memory_text(self.engine.backend)}"
        )
        return Report({**document, **memory(self.engine.backend)}, figures)
