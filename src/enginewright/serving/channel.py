"""Messages over a socket between a process and the child that it started itself.

A frame is its size (4 bytes, little-endian) and a pickle: both ends are this library, and the
socket has no name that anybody else could open.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
from typing import Any

_SIZE = struct.Struct("<I")


def pack(message: object) -> bytes:
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _SIZE.pack(len(body)) + body


def receive(end: socket.socket) -> Any | None:
    """The next message, or None where the other end is gone; waits for it."""
    head = _receive_all(end, _SIZE.size)
    body = _receive_all(end, _SIZE.unpack(head)[0]) if head else None
    return pickle.loads(body) if body else None


def _receive_all(end: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = end.recv(min(size - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


async def read(stream: asyncio.StreamReader) -> Any | None:
    """As `receive`, for an event loop."""
    try:
        head = await stream.readexactly(_SIZE.size)
        return pickle.loads(await stream.readexactly(_SIZE.unpack(head)[0]))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
