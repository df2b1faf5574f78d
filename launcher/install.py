"""Installs Pants and its `pex` tool into a folder: `install.py LOCK FOLDER`, run by `./pants` with a Python 3.7 to 3.9.

Everything comes from the package index with the hashes of the lock. The work happens in a folder of its own, to which a
symbolic link named `FOLDER` points at the very end: a run that is killed leaves nothing that looks finished, and of two
runs at once the second to finish throws its own work away.

What `FOLDER` has afterwards: `bin/pants` (the Python client), `client` (the native client where it runs, otherwise the
Python client), `pex` (the tool that Pants' Python backend would download elsewhere) and `pex.sh` (its address).
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from pip_settings import pip_environment, read_pip_settings, shell_script

# The `pex` program of pex 2.1.137, as that version's own `pex pex==2.1.137 -c pex` makes it on every host.
_PEX_VERSION = "2.1.137"
_PEX_SHA256 = "02252fec0a0fc8475f4ebc09edd65d81ae502b609549e059d45c4bc48cae944f"
_PLATFORMS = ("linux_arm64", "linux_x86_64", "macos_arm64", "macos_x86_64")


class InstallError(Exception):
    """The installation failed for a reason that the user can do something about."""


def install(lock, folder):
    """Installs into a new folder beside `folder` and makes `folder` a link to it."""
    os.umask(0o022)  # file modes go into the bytes of the `pex` tool
    folder.parent.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix=folder.name + ".", dir=str(folder.parent)))
    try:
        home.chmod(0o755)
        print("./pants: installing Pants into {} (once)".format(folder), file=sys.stderr)
        wheels = install_pants(lock, home)
        pex = build_pex_tool(home, wheels)
        shutil.rmtree(str(wheels))
        (home / "pex.sh").write_text(shell_script(pex_options(pex, folder / "pex")))
        link_client(home)
        publish(home, folder)
    except BaseException:
        shutil.rmtree(str(home), ignore_errors=True)
        raise


def install_pants(lock, home):
    """A virtual environment with the lock's distributions in it; returns the folder with their wheels."""
    venv.create(str(home), with_pip=True)
    python = home / "bin" / "python"
    environment = pip_environment(read_pip_settings(python), os.environ)
    wheels = home / "wheels"
    pip = [str(python), "-EsB", "-m", "pip", "--quiet"]
    locked = ["--require-hashes", "--only-binary", ":all:", "--requirement", str(lock)]
    run([*pip, "download", "--dest", str(wheels), *locked], environment, lock)
    run([*pip, "install", "--no-index", "--find-links", str(wheels), *locked], environment, lock)
    return wheels


def build_pex_tool(home, wheels):
    """The `pex` program, made from the locked wheel and checked against its known digest."""
    pex = home / "pex"
    arguments = ["pex=={}".format(_PEX_VERSION), "--console-script", "pex", "--output-file", str(pex)]
    sources = ["--no-pypi", "--find-links", str(wheels), "--pex-root", str(home / "pex_root")]
    environment = {**pip_environment({}, os.environ), "PEX_IGNORE_RCFILES": "1"}
    run([str(home / "bin" / "python"), "-Es", "-m", "pex", *arguments, *sources], environment, pex)
    shutil.rmtree(str(home / "pex_root"), ignore_errors=True)
    actual = hashlib.sha256(pex.read_bytes()).hexdigest()
    if actual != _PEX_SHA256:
        raise InstallError(
            "the `pex` tool came out with other bytes than expected.\n"
            "  expected sha256  {}\n  actual sha256    {}".format(_PEX_SHA256, actual)
        )
    return pex


def pex_options(pex, address):
    """The Pants options that make its Python backend take `pex` from `address`."""
    size = pex.stat().st_size
    versions = ["v{}|{}|{}|{}".format(_PEX_VERSION, p, _PEX_SHA256, size) for p in _PLATFORMS]
    return {
        "PANTS_PEX_CLI_URL_TEMPLATE": address.as_uri(),
        "PANTS_PEX_CLI_KNOWN_VERSIONS": repr(versions),
    }


def link_client(home):
    """Makes `client` the native client if that runs on this host. The wheel ships it without its executable bit."""
    (native,) = home.glob("lib/python3*/site-packages/pants/bin/native_client")
    native.chmod(0o755)
    # Outside of a repository the native client hands over to the server executable: here, to a program that says so.
    environment = {**os.environ, "_PANTS_SERVER_EXE": shutil.which("echo") or "/bin/echo"}
    try:
        handed_over = subprocess.run(
            [str(native), "handed-over"], env=environment, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        works = handed_over.stdout.strip() == b"handed-over"
    except OSError:
        works = False
    (home / "client").symlink_to(native.relative_to(home) if works else Path("bin", "pants"))


def publish(home, folder):
    """Makes `folder` a link to `home` in one step; a finished installation that is there already stays."""
    if folder.is_symlink() and not (folder / "bin" / "python").exists():
        folder.unlink()  # its Python was removed from this host
    try:
        folder.symlink_to(home.name)
    except FileExistsError:
        shutil.rmtree(str(home))


def run(command, environment, subject):
    finished = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True
    )
    if finished.returncode:
        output = re.sub(r"^WARNING: You are using pip.*\n?|^You should consider.*\n?", "", finished.stdout, flags=re.M)
        raise InstallError("{} failed:\n{}\n{}".format(" ".join(command[2:5]), output.rstrip(), subject))


def main():
    try:
        install(Path(sys.argv[1]), Path(sys.argv[2]))
    except InstallError as error:
        sys.exit("./pants: Pants was not installed: {}".format(error))


if __name__ == "__main__":
    main()
