"""Server-sent events: one JSON object each, `[DONE]` at the end."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

from starlette.responses import StreamingResponse

from enginewright.serving.api_error import ApiError, too_late
from enginewright.serving.metrics import Metrics

Documents = AsyncGenerator[Mapping[str, Any], None]


def event_stream(
    documents: Documents, scope: contextlib.ExitStack, seconds: float, metrics: Metrics
) -> StreamingResponse:
    """A response that is an error event where something goes wrong on the way.

    `scope` is closed with it; `seconds` are until its end.
    """
    return StreamingResponse(
        _events(documents, scope, seconds, metrics), media_type="text/event-stream"
    )


async def _events(
    documents: Documents, scope: contextlib.ExitStack, seconds: float, metrics: Metrics
) -> AsyncIterator[str]:
    deadline = asyncio.get_running_loop().time() + seconds
    is_whole = False
    try:
        with scope:
            while True:
                try:
                    async with asyncio.timeout_at(deadline):
                        document = await anext(documents)
                except StopAsyncIteration:
                    break
                yield _event(document)
            is_whole = True
            yield "data: [DONE]\n\n"
    except (ApiError, TimeoutError) as error:
        told = error if isinstance(error, ApiError) else too_late(seconds)
        metrics.refused.labels(str(told.status)).inc()
        is_whole = True
        yield _event(told.document)
    finally:
        if not is_whole:
            metrics.gone.inc()
        await documents.aclose()


def _event(document: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(document, ensure_ascii=False, separators=(',', ':'))}\n\n"
