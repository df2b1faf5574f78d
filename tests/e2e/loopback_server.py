"""A server on a loopback port, with all that it has in a folder."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

STARTS_WITHIN, STOPS_WITHIN = 60.0, 20.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class LoopbackServer(ABC):
    """`start()` and `stop()` may be called again: the storage lies in `folder`."""

    programs: Path
    folder: Path
    port: int = field(default_factory=free_port, kw_only=True)
    process: subprocess.Popen[bytes] | None = field(default=None, kw_only=True)

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The server itself, not a wrapper that starts it."""

    @property
    @abstractmethod
    def address(self) -> str:
        """What `[GLOBAL].remote_store_address` says for this server."""

    @property
    def storage(self) -> Path:
        return self.folder / "storage"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        path = f"{self.programs}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        command = self.command()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env={"PATH": path, "TMPDIR": str(temporary), "HOME": str(self.folder)},
                stdout=log,
                stderr=log,
                start_new_session=True,  # All that it starts ends with it.
            )
        deadline = time.monotonic() + STARTS_WITHIN
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                name = Path(command[0]).name
                raise RuntimeError(f"{name} does not answer:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=0.2):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        """End the server as its operator would."""
        if self.process is None:
            return
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(STOPS_WITHIN)
        self.kill()

    def kill(self) -> None:
        """End it, and all that it started, at once."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
