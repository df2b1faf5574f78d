"""`launch.sh`: which Python a step gets, and that no step writes into its inputs."""

import os
import platform
import subprocess
import sys
from pathlib import Path

from workspace import TREE

LAUNCH = TREE / "rules" / "pants_enginewright" / "launch" / "launch.sh"
VERSION = platform.python_version()

OVERWRITE = """\
import sys
try:
    with open(sys.argv[1], "r+b") as stream:
        stream.write(b"X")
except PermissionError:
    sys.exit("refused")
"""


def launch(
    folder: Path, program: str, *arguments: str, version: str = VERSION
) -> subprocess.CompletedProcess[str]:
    (folder / ".python").mkdir(exist_ok=True)
    (folder / ".python" / VERSION).unlink(missing_ok=True)
    (folder / ".python" / VERSION).symlink_to(os.path.realpath(sys.executable))
    (folder / "program.py").write_text(program)
    return subprocess.run(
        ["/bin/sh", str(LAUNCH), version, "program.py", *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_step_cannot_write_into_an_input_even_as_root(tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(b"weights")
    blob.chmod(0o555)  # As in Pants' store.
    os.link(blob, tmp_path / "input")
    done = launch(tmp_path, OVERWRITE, "input")
    assert (done.returncode, done.stderr) == (1, "refused\n")
    assert blob.read_bytes() == b"weights"


def test_a_step_writes_what_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "own").write_bytes(b"weights")
    assert launch(tmp_path, OVERWRITE, "own").returncode == 0
    assert (tmp_path / "own").read_bytes() == b"Xeights"


def test_a_step_sees_nothing_that_the_host_has_installed(tmp_path: Path) -> None:
    done = launch(tmp_path, "import sys; print([p for p in sys.path if 'site-packages' in p])")
    assert done.stdout == "[]\n"


def test_a_version_that_the_host_lacks_is_named(tmp_path: Path) -> None:
    done = launch(tmp_path, "", version="3.11.99")
    assert done.returncode == 1
    assert done.stderr.startswith("CPython 3.11.99 is not on this host: install it")
