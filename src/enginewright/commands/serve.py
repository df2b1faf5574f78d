"""`enginewright serve DIR`: a packaged engine over HTTP, in the form of OpenAI's API."""

from __future__ import annotations

import argparse
import ipaddress
from pathlib import Path

from enginewright.commands.command import Command, main
from enginewright.errors import InputError, Problem


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("engine", type=Path, help="folder with engine.json")
    parser.add_argument("--host", default="127.0.0.1", help="default 127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="default 8000; 0 is any free one")
    parser.add_argument("--port-file", type=Path, help="where to write the port once it is open")
    parser.add_argument("--name", default="", help="of the model; default: the engine's own")
    parser.add_argument("--keys", type=Path, help="a file with an API key a line")
    parser.add_argument("--admin-keys", type=Path, help="as --keys, for /admin: swapping engines")
    parser.add_argument(
        "--without-keys", action="store_true", help="serve every host that can reach this one"
    )
    numbers = (
        ("--threads", int, 0, "of the engine; 0 is as many as there are processors"),
        ("--slots", int, 32, "texts that are computed at once"),
        ("--batch-tokens", int, 2048, "tokens of one call of the engine, padding included"),
        ("--max-requests", int, 256, "inside the server, waiting or not; more get 429"),
        ("--max-seconds", float, 120.0, "for a request, from its last byte; more get 504"),
        ("--read-seconds", float, 10.0, "for a client to send a request, or to read anything"),
        ("--max-body-bytes", int, 1 << 20, "of a request; more get 413"),
        ("--drain-seconds", float, 30.0, "after SIGTERM, for what was accepted"),
        ("--start-seconds", float, 120.0, "for an engine to be loaded and tested"),
        ("--stall-seconds", float, 60.0, "a worker that gives no answer so long is replaced"),
    )
    for flag, kind, default, text in numbers:
        parser.add_argument(flag, type=kind, default=default, help=f"{text}; default {default}")


def _run(options: argparse.Namespace) -> int:
    # The packages of a server are not in the environment of the other commands.
    from enginewright.serving.server import run
    from enginewright.serving.service import Capacity
    from enginewright.serving.settings import Limits, ServerSettings, WorkerSettings

    _check(options)
    limits = Limits(
        requests=options.max_requests,
        seconds=options.max_seconds,
        read_seconds=options.read_seconds,
        body_bytes=options.max_body_bytes,
        drain_seconds=options.drain_seconds,
    )
    worker = WorkerSettings(
        options.threads,
        Capacity(options.slots, options.batch_tokens),
        options.start_seconds,
        options.stall_seconds,
    )
    return run(
        ServerSettings(
            options.engine,
            options.host,
            options.port,
            options.name,
            options.keys,
            options.admin_keys,
            limits,
            worker,
            options.port_file,
        )
    )


def _check(options: argparse.Namespace) -> None:
    """Raise `InputError` for numbers that are no limits, and for a server open to all unawares."""
    problems = [
        Problem("out of range", f"--{name.replace('_', '-')}", "above 0", str(value))
        for name, value in vars(options).items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and name not in ("threads", "port")
        and not value > 0
    ]
    if not 0 <= options.port < 65536:
        problems.append(Problem("out of range", "--port", "0 to 65535", str(options.port)))
    if options.threads < 0:
        problems.append(Problem("out of range", "--threads", "at least 0", str(options.threads)))
    if not (_is_loopback(options.host) or options.keys or options.without_keys):
        what = "other hosts could use the server without a key"
        fix = "give --keys FILE, or --without-keys where something before the server asks for them"
        problems.append(Problem(what, f"--host {options.host}", "--keys FILE", "no keys", fix))
    if problems:
        raise InputError(problems)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


COMMAND = Command("serve", "Serve a packaged engine over HTTP.", _arguments, _run)

if __name__ == "__main__":
    main(COMMAND)
