"""Reads a request's body, with limits on what a client may send and how slowly."""

from __future__ import annotations

import asyncio
import json
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

from enginewright.document import decode
from enginewright.errors import InputError
from enginewright.serving.api_error import ApiError
from enginewright.serving.settings import Limits

T = TypeVar("T")


async def read_body(request: Request, kind: type[T], limits: Limits) -> T:
    """The `kind` that the body says; raises `ApiError` for any other."""
    content = request.headers.get("content-type", "")
    if content.partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, f"the content type is application/json, not {content[:80]!r}")
    try:
        async with asyncio.timeout(limits.read_seconds):
            text = await _read(request, limits.body_bytes)
    except TimeoutError:
        message = f"the request did not come within {limits.read_seconds:g} s"
        raise ApiError(408, message, headers={"Connection": "close"}) from None
    try:
        document = json.loads(text)
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ApiError(400, "a text has half of a character (a lone surrogate)") from None
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"the body is no JSON: {str(error)[:200]}") from None
    try:
        return decode(kind, document, "the body")
    except InputError as error:
        raise ApiError.of(error) from None


async def _read(request: Request, most: int) -> bytes:
    error = ApiError(413, f"the body has more than {most} bytes", headers={"Connection": "close"})
    if int(request.headers.get("content-length", 0)) > most:
        raise error
    text = bytearray()
    try:
        async for part in request.stream():
            text += part
            if len(text) > most:
                raise error
    except ClientDisconnect:
        raise ApiError(499, "the client hung up") from None
    return bytes(text)
