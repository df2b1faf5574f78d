"""The engine that serves, the one before it, and how one takes the other's place."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from pathlib import Path

from enginewright.errors import InputError, Problem
from enginewright.serving import worker_process
from enginewright.serving.ask import Answer, Ask, Piece
from enginewright.serving.message import EngineFacts
from enginewright.serving.metrics import Metrics
from enginewright.serving.saying import say
from enginewright.serving.settings import WorkerSettings
from enginewright.serving.worker_process import WorkerLostError, WorkerProcess

ATTEMPTS = 2
"""An ask whose worker dies goes to the next one, unless it may be what kills them."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts to start a worker that does not come up."""


class BusyError(Exception):
    """Another engine is being loaded now."""


class Engines:
    """Made by `open`; one that is swapped out stays loaded, for a way back in no time."""

    def __init__(self, first: WorkerProcess, settings: WorkerSettings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._current = first
        self._previous: WorkerProcess | None = None
        self._changed = asyncio.Event()
        self._changing = asyncio.Lock()
        self._keeper = asyncio.create_task(self._keep())

    @classmethod
    async def open(cls, folder: Path, settings: WorkerSettings, metrics: Metrics) -> Engines:
        return cls(await worker_process.start(folder, settings), settings, metrics)

    @property
    def facts(self) -> EngineFacts:
        return self._current.facts

    @property
    def previous(self) -> EngineFacts | None:
        return self._previous.facts if self._previous is not None else None

    @property
    def is_ready(self) -> bool:
        return not self._current.lost.is_set()

    @property
    def worker_pid(self) -> int:
        return self._current.pid

    async def stream(self, ask: Ask) -> AsyncGenerator[Answer, None]:
        """Yield the answers as they come.

        Raises `WorkerLostError` where the worker dies and something of the text is out already,
        or for the second time.
        """
        for attempt in range(ATTEMPTS):
            is_out = False
            worker = await self._ready()
            answers = worker.ask(ask)
            try:
                async with contextlib.aclosing(answers):
                    async for answer in answers:
                        is_out = is_out or isinstance(answer, Piece)
                        yield answer
                return
            except WorkerLostError:
                if is_out or attempt + 1 == ATTEMPTS:
                    raise

    async def collect(self, ask: Ask, see: Callable[[Answer], None]) -> Sequence[Answer]:
        """All answers, each shown to `see` as it comes, also those of a worker that dies then.

        Raises `WorkerLostError` where two workers died of it.
        """
        for _ in range(ATTEMPTS):
            worker = await self._ready()
            with contextlib.suppress(WorkerLostError):
                answers = []
                async for answer in worker.ask(ask):
                    see(answer)
                    answers.append(answer)
                return answers
        raise WorkerLostError

    async def swap(self, folder: Path) -> EngineFacts:
        """Load an engine beside the one that serves; once it is tested, it takes over.

        What the old one has begun, it ends. Raises `InputError` for an engine that cannot be
        served, and for one that does less than the old one; that one serves on then. Raises
        `BusyError` while another is loaded.
        """
        async with self._one_change():
            worker = await worker_process.start(folder, self._settings)
            missing = {*self._current.facts.asks} - {*worker.facts.asks}
            if missing:
                await worker.stop()
                what = "the engine does not do all that the one in service does"
                expected = ", ".join(self._current.facts.asks)
                actual = ", ".join(worker.facts.asks)
                raise InputError(Problem(what, str(folder), expected, actual))
            oldest = self._previous
            self._put(worker, self._current)
            if oldest is not None:
                await oldest.stop()
            return worker.facts

    async def roll_back(self) -> EngineFacts:
        """Let the engine before this one serve again, and keep this one for the next call.

        Raises `InputError` where there is none, or it died and cannot be loaded any more.
        """
        async with self._one_change():
            worker = self._previous
            if worker is None:
                raise InputError(Problem("there is no engine before this one", fix="swap first"))
            if worker.lost.is_set():
                worker = await worker_process.start(worker.folder, self._settings)
            self._put(worker, self._current)
            return worker.facts

    async def close(self) -> None:
        self._keeper.cancel()
        for worker in (self._current, self._previous):
            if worker is not None:
                await worker.stop()

    @contextlib.asynccontextmanager
    async def _one_change(self) -> AsyncIterator[None]:
        if self._changing.locked():
            raise BusyError
        async with self._changing:
            yield

    def _put(self, current: WorkerProcess, previous: WorkerProcess | None) -> None:
        self._current, self._previous = current, previous
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _ready(self) -> WorkerProcess:
        while self._current.lost.is_set():
            await self._changed.wait()
        return self._current

    async def _keep(self) -> None:
        """Replace the worker that serves when it dies or stalls."""
        pause = 0.0
        while True:
            worker = self._current
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(worker.lost.wait(), 0.5)
            if worker.is_stalled(self._settings.stall_seconds):
                await worker.stop()
            if not worker.lost.is_set() or worker is not self._current:
                continue
            try:
                fresh = await worker_process.start(worker.folder, self._settings)
            except (InputError, OSError) as error:
                pause = min(2 * pause + 0.5, LONGEST_PAUSE)
                say(f"the worker cannot be started, again in {pause:g} s: {error}")
                await asyncio.sleep(pause)
                continue
            pause = 0.0
            self._metrics.restarts.inc()
            if worker is self._current:
                self._put(fresh, self._previous)
            else:
                await fresh.stop()
