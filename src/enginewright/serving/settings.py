"""How an engine is served: limits, and who may ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from enginewright.serving.service import Capacity


@dataclass(frozen=True)
class WorkerSettings:
    threads: int = 0
    """Of the engine; 0 leaves them to the product."""
    capacity: Capacity = field(default_factory=Capacity)
    start_seconds: float = 120.0
    """Until an engine has to be loaded, warm and tested."""
    stall_seconds: float = 60.0
    """A worker that owes answers and gives none for so long is replaced."""


@dataclass(frozen=True)
class Limits:
    requests: int = 256
    """Prompts and lists of texts that are computed or wait; more are told to come back (429)."""
    seconds: float = 120.0
    """From the last byte of a request to the last of its answer (504 after)."""
    read_seconds: float = 10.0
    """For a client to send a request, from its first byte or the connection's start."""
    body_bytes: int = 1 << 20
    texts: int = 2048
    """In one request: prompts, texts to embed or documents to rank."""
    drain_seconds: float = 30.0
    """After SIGTERM, for what was accepted."""


@dataclass(frozen=True)
class ServerSettings:
    folder: Path
    host: str = "127.0.0.1"
    port: int = 8000
    name: str = ""
    """Of the model, as clients say it; the first engine's own where it is empty."""
    keys: Path | None = None
    """A key a line; None serves everybody."""
    admin_keys: Path | None = None
    """For swapping engines; None lets nobody."""
    limits: Limits = field(default_factory=Limits)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    port_file: Path | None = None
    """Where to write the port, once it is open."""
