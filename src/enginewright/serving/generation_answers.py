"""Texts as OpenAI's API gives them: whole, or in pieces."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from enginewright.serving.ask import Answer, Ended, Piece, Started


@dataclass(frozen=True)
class Form:
    """How completions and chat differ."""

    model: str
    is_chat: bool
    with_tokens: bool
    """Whether the client wants token ids too."""
    identifier: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def document(self, choices: Sequence[Mapping[str, Any]], is_piece: bool) -> dict[str, Any]:
        kind = "text_completion"
        if self.is_chat:
            kind = "chat.completion.chunk" if is_piece else "chat.completion"
        return {
            "id": ("chatcmpl-" if self.is_chat else "cmpl-") + self.identifier,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": list(choices),
        }

    def choice(
        self, index: int, text: str, tokens: Sequence[int], reason: str | None, is_piece: bool
    ) -> dict[str, Any]:
        content: dict[str, Any] = {"text": text}
        if self.is_chat:
            content = {"delta" if is_piece else "message": {"role": "assistant", "content": text}}
        ids = {"token_ids": list(tokens)} if self.with_tokens else {}
        return {"index": index, **content, "logprobs": None, "finish_reason": reason, **ids}


@dataclass
class Usage:
    prompt: int = 0
    made: int = 0

    def see(self, answer: Answer) -> None:
        if isinstance(answer, Started):
            self.prompt += answer.prompt_tokens
        elif isinstance(answer, Piece):
            self.made += len(answer.tokens)

    @property
    def document(self) -> dict[str, int]:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.made,
            "total_tokens": self.prompt + self.made,
        }


def whole(form: Form, texts: Sequence[Sequence[Answer]]) -> dict[str, Any]:
    """The answers to each prompt as one document."""
    usage = Usage()
    choices = []
    for index, answers in enumerate(texts):
        for answer in answers:
            usage.see(answer)
        pieces = [answer for answer in answers if isinstance(answer, Piece)]
        text = "".join(piece.text for piece in pieces)
        tokens = [token for piece in pieces for token in piece.tokens]
        reason = next(answer.reason for answer in answers if isinstance(answer, Ended))
        choices.append(form.choice(index, text, tokens, reason, False))
    return {**form.document(choices, False), "usage": usage.document}


async def pieces(
    form: Form, streams: Sequence[AsyncGenerator[Answer, None]], with_usage: bool
) -> AsyncGenerator[dict[str, Any], None]:
    """Documents as the answers to each prompt come, with the usage as the last where wanted."""
    usage = Usage()
    async with contextlib.aclosing(_merged(streams)) as merged:
        async for index, answer in merged:
            usage.see(answer)
            if isinstance(answer, Piece) and (answer.text or form.with_tokens):
                choice = form.choice(index, answer.text, answer.tokens, None, True)
                yield form.document([choice], True)
            elif isinstance(answer, Ended):
                yield form.document([form.choice(index, "", (), answer.reason, True)], True)
    if with_usage:
        yield {**form.document([], True), "usage": usage.document}


async def _merged(
    streams: Sequence[AsyncGenerator[Answer, None]],
) -> AsyncGenerator[tuple[int, Answer], None]:
    """Of all streams as they come, with the index of each; the first error ends all."""
    if len(streams) == 1:
        async with contextlib.aclosing(streams[0]) as only:
            async for answer in only:
                yield 0, answer
        return
    found: asyncio.Queue[tuple[int, Answer] | BaseException | None] = asyncio.Queue()

    async def drain(index: int, stream: AsyncGenerator[Answer, None]) -> None:
        try:
            async with contextlib.aclosing(stream):
                async for answer in stream:
                    found.put_nowait((index, answer))
            found.put_nowait(None)
        except Exception as error:
            found.put_nowait(error)

    tasks = [asyncio.create_task(drain(*item)) for item in enumerate(streams)]
    try:
        left = len(tasks)
        while left:
            item = await found.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                left -= 1
            else:
                yield item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
