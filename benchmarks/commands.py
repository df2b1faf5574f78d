"""What a command takes: time, processor time and memory, the repository's daemon included."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repository import daemons


@dataclass(frozen=True)
class Run:
    seconds: float
    processor_seconds: float
    """Of all processes, those of the daemon included."""
    peak_bytes: int
    """Resident memory of the process tree, at most; what processes share counts once in each."""


@dataclass
class PeakMemory:
    """Samples the resident memory of the processes below some roots while it is entered."""

    roots: Callable[[], Sequence[int]]
    peak_bytes: int = 0
    _done: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> PeakMemory:
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(0.1):
            self.peak_bytes = max(self.peak_bytes, tree_memory(self.roots()))


def tree_memory(roots: Sequence[int]) -> int:
    """Bytes of resident memory of the processes `roots` and all their descendants."""
    parents, resident = {}, {}
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name of the program, in parentheses, may hold spaces.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        parents[int(entry.name)] = int(fields[1])
        resident[int(entry.name)] = int(fields[21]) * page
    wanted = set(roots)
    while grown := {pid for pid, parent in parents.items() if parent in wanted} - wanted:
        wanted |= grown
    return sum(resident.get(pid, 0) for pid in wanted)


def processor_seconds(pids: Sequence[int]) -> float:
    """Of these processes so far, and of their children that have ended."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(int(value) for value in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def run(root: Path, *command: str, variables: Mapping[str, str] | None = None) -> Run:
    """Run a command in the repository `root`; exits with what it printed when it fails."""
    log = root.with_name("log")
    with log.open("wb") as stream:
        before = processor_seconds(daemons(root))
        begin = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=root,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
        with PeakMemory(lambda: [process.pid, *daemons(root)]) as memory:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        own = usage.ru_utime + usage.ru_stime
        processor = own + processor_seconds(daemons(root)) - before
    if process.returncode:
        shown = log.read_text(errors="replace")[-4000:]
        sys.exit(f"{' '.join(command)} failed:\n{shown}")
    return Run(seconds, processor, memory.peak_bytes)
