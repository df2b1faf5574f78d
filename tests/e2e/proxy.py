"""A TCP proxy on a loopback port that makes the way to a real server slow, or cuts it."""

import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from loopback_server import free_port

PIECE = 16384
LONGEST_NAME = 512
"""Bytes; no name of a blob that a client sends is longer."""
RESET = struct.pack("ii", 1, 0)
"""For `SO_LINGER`: a closed connection ends with a reset, as that of a killed process may."""

# What a client of the protocol sends at the start of a blob, in plain text.
UPLOAD = rb"uploads/[-0-9a-f]{36}/blobs/([0-9a-f]{64})/([0-9]+)"
DOWNLOAD = rb"(?<![-0-9a-f]/)blobs/([0-9a-f]{64})/([0-9]+)"


@dataclass
class Cut:
    """Where the connection ends: in the middle of a blob of at least `min_size` bytes."""

    start: bytes
    """Regular expression for the name of a blob in what the client sends: digest and size."""
    of_answers: bool
    """Count the bytes that the server sends, not those of the client."""
    after: int
    """Bytes that still pass."""
    min_size: int
    then: Callable[[], None] = lambda: None
    """What happens at that moment."""
    done: str = ""
    """The digest of the blob that was cut."""


@dataclass(eq=False)
class Connection:
    client: socket.socket
    server: socket.socket
    sent: bytes = b""
    """The last bytes of the client."""
    left: int | None = None
    """Bytes that may still pass; None before the blob was named."""
    blob: str = ""

    def close(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@dataclass
class Proxy:
    """Starts at once; `stop()` ends it and all connections."""

    server_port: int
    cut: Cut | None = None
    delay: float = 0.0
    """Seconds before each piece of at most `PIECE` bytes that the server sends."""
    port: int = field(default_factory=free_port)
    silent: bool = False
    """Take what the client sends, and never answer."""
    connections: list[Connection] = field(default_factory=list)
    passed: int = 0
    """Bytes of the server that reached the client."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"grpc://127.0.0.1:{self.port}"

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self.connections:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.server_port))
            except OSError:
                client.close()
                continue
            connection = Connection(client, server)
            self.connections.append(connection)
            for is_answer in (False, True):
                threading.Thread(
                    target=self._pump, args=(connection, is_answer), daemon=True
                ).start()

    def _pump(self, connection: Connection, is_answer: bool) -> None:
        source, target = connection.client, connection.server
        if is_answer:
            source, target = target, source
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE):
                if is_answer:
                    time.sleep(self.delay)
                    if self.silent:
                        continue
                target.sendall(self._allowed(connection, is_answer, piece))
                if is_answer:
                    self.passed += len(piece)
                if connection.left == 0 and self.cut and self.cut.of_answers == is_answer:
                    self._end(connection, self.cut)
                    return
        connection.close()

    def _allowed(self, connection: Connection, is_answer: bool, piece: bytes) -> bytes:
        """The part of `piece` that may pass."""
        cut = self.cut
        if cut is None or cut.done:
            return piece
        with self._lock:
            if connection.left is None and not is_answer:
                self._look_for_blob(connection, cut, piece)
            if connection.left is None or is_answer != cut.of_answers:
                return piece
            part = piece[: connection.left]
            connection.left -= len(part)
            return part

    def _look_for_blob(self, connection: Connection, cut: Cut, piece: bytes) -> None:
        connection.sent = connection.sent[-LONGEST_NAME:] + piece
        for match in re.finditer(cut.start, connection.sent):
            if int(match[2]) >= cut.min_size:
                connection.blob, connection.left = match[1].decode(), cut.after

    def _end(self, connection: Connection, cut: Cut) -> None:
        cut.done = connection.blob
        cut.then()
        connection.close()
