"""The process that has the engine: `python -m enginewright.serving.worker FD FOLDER ...`.

One thread reads what the server sends and prepares it, the other computes. It ends when the server
does: signals of a terminal are the server's to handle.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import queue
import signal
import socket
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from enginewright.engines.manifest import NAME
from enginewright.engines.package import read_package
from enginewright.engines.registry import find_own
from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest
from enginewright.run.opening import open_engine
from enginewright.serving import channel
from enginewright.serving.ask import Refused
from enginewright.serving.message import Answers, Cancel, EngineFacts, Failed, Ready, Submit
from enginewright.serving.service import Capacity, Service
from enginewright.tasks.registry import find_task


class Worker:
    def __init__(self, end: socket.socket, service: Service) -> None:
        self._end = end
        self._service = service
        self._prepared: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            self._take()
            answers = tuple(self._service.advance()) if not self._service.is_idle else ()
            if answers:
                self._end.sendall(channel.pack(Answers(answers)))

    def _listen(self) -> None:
        while (message := channel.receive(self._end)) is not None:
            if isinstance(message, Submit):
                try:
                    job = self._service.prepare(message.ask)
                except InputError as error:
                    self._prepared.put((message.number, Refused(error.problems)))
                except Exception as error:
                    # One ask must not take the others' answers with it.
                    traceback.print_exc()
                    problem = Problem("the server failed on this request", actual=repr(error)[:200])
                    self._prepared.put((message.number, Refused((problem,), is_defect=True)))
                else:
                    self._prepared.put((message.number, job))
            else:
                self._prepared.put(message)
        # The server is gone, and with it all who wait.
        os._exit(0)

    def _take(self) -> None:
        """Hand over what has come; waits where there is nothing to compute."""
        refused: list[tuple[int, Refused]] = []
        while True:
            try:
                item = self._prepared.get(self._service.is_idle and not refused)
            except queue.Empty:
                break
            if not isinstance(item, Cancel) and isinstance(item[1], Refused):
                refused.append(item)
            elif isinstance(item, Cancel):
                self._service.cancel(item.number)
            else:
                self._service.submit(*item)
        if refused:
            self._end.sendall(channel.pack(Answers(tuple(refused))))


def open_service(folder: Path, threads: int, capacity: Capacity) -> tuple[Service, EngineFacts]:
    """Load, warm and test; raises `InputError` where the engine cannot be served."""
    begin = time.monotonic()
    package = read_package(folder, find_own)
    task = find_task(package.task, f"{folder / NAME}, `task`")
    if importlib.util.find_spec(f"{task.room}.service") is None:
        what = "engines of this task cannot be served yet"
        raise InputError(
            Problem(what, f"{folder / NAME}, `task`", actual=task.name, fix="use `run`")
        )
    engine = open_engine(package, threads)
    service: Service = task.part("service").open_service(engine, capacity)
    service.test()
    facts = EngineFacts(
        package.manifest.name,
        task.name,
        tuple(kind.__name__ for kind in service.asks),
        FileDigest.of(folder / NAME).sha256,
        service.slots,
        package.limits.total_sequence,
        round(time.monotonic() - begin, 3),
    )
    return service, facts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("end", type=int, help="descriptor of the socket to the server")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--slots", type=int, default=Capacity.slots)
    parser.add_argument("--batch-tokens", type=int, default=Capacity.batch_tokens)
    given = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    end = socket.socket(fileno=given.end)
    try:
        capacity = Capacity(given.slots, given.batch_tokens)
        service, facts = open_service(given.folder, given.threads, capacity)
    except InputError as error:
        end.sendall(channel.pack(Failed(tuple(error.problems))))
        return 1
    end.sendall(channel.pack(Ready(facts)))
    Worker(end, service).run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
