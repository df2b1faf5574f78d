"""Starts the server, and ends it: what was accepted is answered first."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import uvicorn
import uvloop

from enginewright.serving.admission import Admission
from enginewright.serving.app import Api
from enginewright.serving.connection import connection_class
from enginewright.serving.engines import Engines
from enginewright.serving.keys import Keys
from enginewright.serving.metrics import Metrics
from enginewright.serving.saying import say
from enginewright.serving.settings import ServerSettings

BACKLOG = 1024
NOTICE = 1.0
"""Seconds after the first signal in which clients are told that the server stops: one whose
connection is just being made would be cut without a word."""
GRACE = 2.0
"""Seconds for the last bytes, after those that drained in vain were told so."""


class _Server(uvicorn.Server):
    """Closes the admission with the first signal."""

    admission: Admission
    port_file: Path | None = None
    closed: float | None = None
    """When the first signal came."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.port_file is not None:
            port = self.servers[0].sockets[0].getsockname()[1]
            part = self.port_file.with_suffix(".part")
            part.write_text(str(port))
            part.rename(self.port_file)

    def handle_exit(self, sig: int, frame: object) -> None:
        """The second signal does not wait; uvicorn's own would end the process by the signal."""
        del sig, frame
        self.force_exit = self.should_exit = self.closed is not None
        self.closed = self.closed or time.monotonic()
        self.admission.close()

    async def on_tick(self, counter: int) -> bool:
        if self.closed is not None and time.monotonic() - self.closed > NOTICE:
            self.should_exit = True
        return await super().on_tick(counter)


async def serve(settings: ServerSettings) -> int:
    """Serve until a signal; raises `InputError` where the engine or a file of keys is no good."""
    keys = Keys(settings.keys) if settings.keys is not None else None
    admin_keys = Keys(settings.admin_keys) if settings.admin_keys is not None else None
    metrics = Metrics()
    engines = await Engines.open(settings.folder, settings.worker, metrics)
    try:
        admission = Admission(settings.limits.requests)
        name = settings.name or engines.facts.name
        api = Api(settings, engines, metrics, admission, name, keys, admin_keys)
        server = _Server(_config(settings, api))
        server.admission = admission
        server.port_file = settings.port_file
        say(f"{name}: loaded and tested in {engines.facts.seconds:g} s")
        await server.serve()
        return 0 if server.started else 1
    finally:
        await engines.close()


def _config(settings: ServerSettings, api: Api) -> uvicorn.Config:
    limits = settings.limits
    return uvicorn.Config(
        api.app(),
        host=settings.host,
        port=settings.port,
        http=connection_class(limits.read_seconds),
        loop="uvloop",
        lifespan="off",
        backlog=BACKLOG,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(limits.drain_seconds + GRACE),
    )


def run(settings: ServerSettings) -> int:
    """As `serve`, in an event loop of its own."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serve(settings))
