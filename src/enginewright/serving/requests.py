"""The bodies that clients send, as OpenAI's API has them (and vLLM's, for `rerank`).

A field that the server does not know is refused, and so is one whose value it would have to pass
over: each may be left out, or have the value that changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from enginewright.schema import NOT_EMPTY, Count, Rule, between
from enginewright.serving.ask import Generate, Sampling

Texts = (
    str
    | Annotated[tuple[str, ...], NOT_EMPTY]
    | Annotated[tuple[int, ...], NOT_EMPTY]
    | Annotated[tuple[tuple[int, ...], ...], NOT_EMPTY]
)
"""A text, several, or the same as token ids."""
_EMPTY = Rule(lambda value: len(value) == 0, lambda: "empty")
Zero = Literal[0] | Annotated[float, between(0, 0)] | None
SEEDS = 2**63


@dataclass(frozen=True)
class StreamOptions:
    include_usage: bool = False


@dataclass(frozen=True)
class _Generation:
    """What completions and chat have in common."""

    max_tokens: Count | None = None
    temperature: Annotated[float, between(0, 2)] | None = None
    """1 where it is absent."""
    top_p: Annotated[float, between(0, 1)] | None = None
    top_k: Annotated[int, between(-1, 2**31)] | None = None
    """0 and -1 are all tokens."""
    seed: Annotated[int, between(0, SEEDS)] | None = None
    stop: str | tuple[str, ...] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None
    """Names the client's own user; the server has no use for it."""
    ignore_eos: bool = False
    return_token_ids: bool = False
    n: Literal[1] | None = None
    presence_penalty: Zero = None
    frequency_penalty: Zero = None
    logit_bias: Annotated[Mapping[str, Any], _EMPTY] | None = None

    def generate(self, prompt: str | tuple[int, ...], seed: int) -> Generate:
        """`seed` is taken where the client gives none."""
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop or ()
        sampling = Sampling(
            1.0 if self.temperature is None else self.temperature,
            max(self.top_k or 0, 0),
            1.0 if self.top_p is None else self.top_p,
            seed if self.seed is None else self.seed,
        )
        return Generate(prompt, self.max_tokens, sampling, stop, self.ignore_eos)


@dataclass(frozen=True, kw_only=True)
class CompletionRequest(_Generation):
    model: str
    prompt: Texts
    best_of: Literal[1] | None = None
    echo: Literal[False] | None = None
    logprobs: None = None
    suffix: None = None


@dataclass(frozen=True, kw_only=True)
class ChatRequest(_Generation):
    model: str
    messages: Annotated[tuple[Mapping[str, Any], ...], NOT_EMPTY]
    max_completion_tokens: Count | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: None = None


@dataclass(frozen=True)
class EmbeddingRequest:
    model: str
    input: Texts
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: None = None
    user: str | None = None


@dataclass(frozen=True)
class RerankRequest:
    model: str
    query: str
    documents: Annotated[tuple[str, ...], NOT_EMPTY]
    top_n: Count | None = None
    return_documents: bool = True
    user: str | None = None


@dataclass(frozen=True)
class SwapRequest:
    folder: str
    """Of a packaged engine, on the server's host."""


def listed(texts: str | tuple[Any, ...]) -> tuple[str | tuple[int, ...], ...]:
    """Each text of `Texts` by itself."""
    if isinstance(texts, str) or isinstance(texts[0], int):
        return (texts,)
    return texts
