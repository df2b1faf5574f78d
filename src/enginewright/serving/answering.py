"""Carries an accepted ask through: its time limit, its client, its figures."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Sequence
from typing import TypeVar

from starlette.requests import Request

from enginewright.errors import InputError
from enginewright.serving.api_error import ApiError, too_late, worker_lost
from enginewright.serving.ask import Answer, Ask, Refused
from enginewright.serving.engines import Engines
from enginewright.serving.metrics import Meter, Metrics
from enginewright.serving.worker_process import WorkerLostError

T = TypeVar("T")


async def collect(engines: Engines, metrics: Metrics, ask: Ask) -> Sequence[Answer]:
    """All answers; raises `ApiError` where there is none."""
    with contextlib.closing(Meter(metrics)) as meter:
        try:
            answers = await engines.collect(ask, meter.see)
        except WorkerLostError:
            raise worker_lost() from None
        return [checked(answer) for answer in answers]


async def stream(engines: Engines, metrics: Metrics, ask: Ask) -> AsyncGenerator[Answer, None]:
    """As they come; raises `ApiError` where no more comes."""
    with contextlib.closing(Meter(metrics)) as meter:
        answers = engines.stream(ask)
        async with contextlib.aclosing(answers):
            try:
                async for answer in answers:
                    meter.see(checked(answer))
                    yield answer
            except WorkerLostError:
                raise worker_lost() from None


def checked(answer: Answer) -> Answer:
    """Raises `ApiError` for a refusal."""
    if isinstance(answer, Refused):
        raise ApiError.of(InputError(answer.problems), 500 if answer.is_defect else 400)
    return answer


async def while_there(request: Request, work: Awaitable[T], seconds: float) -> T:
    """The work's result; raises `ApiError` when time is over or the client hangs up."""
    task = asyncio.ensure_future(work)
    gone = asyncio.create_task(_hung_up(request))
    try:
        await asyncio.wait((task, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ApiError(499, "the client hung up") if gone.done() else too_late(seconds)
    finally:
        for each in (task, gone):
            each.cancel()
            with contextlib.suppress(asyncio.CancelledError, ApiError):
                await each


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
