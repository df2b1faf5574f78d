"""A client's connection: uvicorn's, with limits on how slow a client may be."""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


def connection_class(seconds: float) -> type[asyncio.Protocol]:
    """Connections that are cut where no request begins, or nothing is read, for so long."""

    class Connection(HttpToolsProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            end = transport.get_extra_info("socket")
            if end is not None:
                # A client that reads nothing: the kernel gives it up.
                limit = int(seconds * 1000)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit)
            self._impatience = self.loop.call_later(seconds, self._give_up)

        def on_headers_complete(self) -> None:
            self._impatience.cancel()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._impatience.cancel()
            super().connection_lost(exc)

        def _give_up(self) -> None:
            self.transport.abort()

    return Connection
