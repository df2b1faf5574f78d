"""A worker as the server sees it: started, asked, watched, ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from enginewright.errors import InputError, Problem
from enginewright.serving import channel
from enginewright.serving.ask import Answer, Ask, EndOfAnswer
from enginewright.serving.message import (
    Answers,
    Cancel,
    EngineFacts,
    Failed,
    FromServer,
    Ready,
    Submit,
)
from enginewright.serving.settings import WorkerSettings


class WorkerLostError(Exception):
    """The worker is gone and cannot answer what it was asked."""


class WorkerProcess:
    """Its engine is loaded, warm and tested. Made by `start`."""

    def __init__(
        self,
        folder: Path,
        facts: EngineFacts,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.folder = folder
        self.facts = facts
        self.lost = asyncio.Event()
        """Set when the worker is gone, wanted or not."""
        self._process = process
        self._reader, self._writer = reader, writer
        self._waiting: dict[int, asyncio.Queue[Answer | None]] = {}
        self._next = 0
        self._heard = time.monotonic()
        self._listener = asyncio.create_task(self._listen())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def owed(self) -> int:
        """Asks that have no end yet."""
        return len(self._waiting)

    def is_stalled(self, seconds: float) -> bool:
        return bool(self._waiting) and time.monotonic() - self._heard > seconds

    async def ask(self, ask: Ask) -> AsyncGenerator[Answer, None]:
        """Yield the answers, an `EndOfAnswer` last; leaving early cancels.

        Raises `WorkerLostError` where the worker goes before the end.
        """
        if self.lost.is_set():
            raise WorkerLostError
        if not self._waiting:
            self._heard = time.monotonic()
        number, answers = self._next, asyncio.Queue[Answer | None]()
        self._next += 1
        self._waiting[number] = answers
        self._send(Submit(number, ask))
        try:
            while True:
                answer = await answers.get()
                if answer is None:
                    raise WorkerLostError
                yield answer
                if isinstance(answer, EndOfAnswer):
                    return
        finally:
            if self._waiting.pop(number, None) is not None:
                self._send(Cancel(number))

    async def stop(self) -> None:
        """End it now; those who still wait are told."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._listener

    def _send(self, message: FromServer) -> None:
        if not self.lost.is_set():
            self._writer.write(channel.pack(message))

    async def _listen(self) -> None:
        while (message := await channel.read(self._reader)) is not None:
            self._heard = time.monotonic()
            for number, answer in message.answers if isinstance(message, Answers) else ():
                waiting = self._waiting.get(number)
                if waiting is not None:
                    waiting.put_nowait(answer)
                    if isinstance(answer, EndOfAnswer):
                        del self._waiting[number]
        self.lost.set()
        self._writer.close()
        for waiting in self._waiting.values():
            waiting.put_nowait(None)


async def start(folder: Path, settings: WorkerSettings) -> WorkerProcess:
    """Raises `InputError` where the engine cannot be served."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "enginewright.serving.worker"),
            *(str(theirs.fileno()), str(folder), f"--threads={settings.threads}"),
            f"--slots={settings.capacity.slots}",
            f"--batch-tokens={settings.capacity.batch_tokens}",
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            # The server may have its packages from anywhere.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    try:
        first = await asyncio.wait_for(channel.read(reader), settings.start_seconds)
    except TimeoutError:
        first = _failed(folder, f"not within {settings.start_seconds:g} s")
    except asyncio.CancelledError:
        process.kill()
        raise
    if isinstance(first, Ready):
        return WorkerProcess(folder, first.facts, process, reader, writer)
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    code = await process.wait()
    writer.close()
    failed = first if isinstance(first, Failed) else _failed(folder, f"it ended with code {code}")
    raise InputError(failed.problems)


def _failed(folder: Path, actual: str) -> Failed:
    what, expected = "the engine's worker did not become ready", "an engine that is loaded"
    fix = "what it wrote is in the server's standard error"
    return Failed((Problem(what, str(folder), expected, actual, fix),))
