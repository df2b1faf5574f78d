"""A real server of the remote execution API that wants TLS and tokens: BuildGrid.

It is a storage and an action cache, out of the wheels that `lockfiles/buildgrid.txt` pins. It needs
CPython 3.13, in an environment of its own.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from certificate_authority import Certificate
from loopback_server import LoopbackServer

TREE = next(folder for folder in Path(__file__).parents if (folder / "pants.toml").is_file())
LOCK = TREE / "lockfiles" / "buildgrid.txt"
PYTHON = "python3.13"


def pythons() -> Iterator[str]:
    """Where CPython 3.13 may be, the first choice first."""
    yield from filter(None, [shutil.which(PYTHON)])
    home = Path(os.environ.get("HOME", "/"))
    versions = Path(os.environ.get("PYENV_ROOT", home / ".pyenv")) / "versions"
    uv = home / ".local" / "share" / "uv" / "python"
    yield from map(str, sorted(versions.glob(f"3.13.*/bin/{PYTHON}")))
    yield from map(str, sorted(uv.glob(f"cpython-3.13.*/bin/{PYTHON}")))
    yield from (f"/usr/local/bin/{PYTHON}", f"/usr/bin/{PYTHON}")


def find_python() -> str:
    """Runs each: a pyenv shim is on PATH even where its version is not active."""
    for python in pythons():
        asked = [python, "-I", "-c", "import ensurepip, ssl, venv"]
        if shutil.which(python) and subprocess.run(asked, capture_output=True).returncode == 0:
            return python
    raise RuntimeError(
        f"BuildGrid needs CPython 3.13 with venv, and none was found in: {', '.join(pythons())}\n"
        "Install it with pyenv, uv or the system's packages."
    )


def install(folder: Path) -> Path:
    """Install the locked wheels into `folder`; returns where the programs are."""
    subprocess.run([find_python(), "-m", "venv", str(folder)], check=True, timeout=120)
    subprocess.run(
        [
            # Isolated: what these tests have on PYTHONPATH is no package of that Python.
            *(str(folder / "bin" / "python"), "-I", "-m", "pip", "install", "--quiet"),
            *("--disable-pip-version-check", "--require-hashes", "--no-deps"),
            *("--only-binary", ":all:", "--requirement", str(LOCK)),
        ],
        check=True,
        timeout=300,
    )
    return folder / "bin"


@dataclass
class BuildGrid(LoopbackServer):
    """Serves who trusts the certificate's authority, and has a token that `tokens_key` verifies."""

    certificate: Certificate
    tokens_key: Path
    """Public key of who issues tokens, PEM."""

    @property
    def address(self) -> str:
        return f"grpcs://{self.certificate.host}:{self.port}"

    def command(self) -> Sequence[str]:
        settings = self.folder / "settings.yml"
        settings.write_text(self.settings())
        program = self.programs / "bgd"
        return [str(program), "server", "start", "-vv", str(settings)]

    def settings(self) -> str:
        """BuildGrid's YAML; its strings are JSON's."""
        return f"""\
server:
  - !channel
    address: "127.0.0.1:{self.port}"
    insecure-mode: false
    credentials:
      tls-server-key: {json.dumps(str(self.certificate.key))}
      tls-server-cert: {json.dumps(str(self.certificate.chain))}
authorization:
  method: jwt
  algorithm: rs256
  secret: {json.dumps(str(self.tokens_key))}
instances:
  - name: ""
    storages:
      - !disk-storage &storage
        path: {json.dumps(str(self.storage))}
    caches:
      - !lru-action-cache &results
        storage: *storage
        max-cached-refs: 1024
    services:
      - !cas
        storage: *storage
      - !bytestream
        storage: *storage
      - !action-cache
        cache: *results
"""
