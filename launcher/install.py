"""Installs Pants and its `pex` tool: `install.py LOCK FOLDER`, run by `./pants` in Python 3.7-3.9.

Everything comes from the package index with the hashes of the lock. The work happens in a folder of
its own, and at the very end a symbolic link named `FOLDER` is made to it: a run that is killed
leaves nothing that looks finished, and of two runs at once the second throws its own work away.

What `FOLDER` has afterwards: `bin/pants` (the Python client), `client` (the native client where it
runs, otherwise the Python client), `pex` (the tool that Pants' Python backend would download
elsewhere) and `pex.sh` (shell commands that tell Pants where it is).
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from pip_settings import pip_environment, read_pip_settings, shell_script

# The program that `pex pex==2.1.137 -c pex` makes. It is an input of every Python process of Pants:
# other bytes here would keep two hosts from sharing a cache.
_PEX_VERSION = "2.1.137"
_PEX_SHA256 = "02252fec0a0fc8475f4ebc09edd65d81ae502b609549e059d45c4bc48cae944f"
_PLATFORMS = ("linux_arm64", "linux_x86_64", "macos_arm64", "macos_x86_64")
_ABANDONED_AFTER = 24 * 3600  # seconds


class InstallError(Exception):
    """The installation failed for a reason that the user can do something about."""


def install(lock, folder):
    """Installs into a new folder beside `folder` and makes `folder` a link to it."""
    os.umask(0o022)  # file modes go into the bytes of the `pex` tool
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(folder.parent)
    home = Path(tempfile.mkdtemp(prefix=folder.name + ".", dir=str(folder.parent)))
    try:
        home.chmod(0o755)
        print(f"./pants: installing Pants into {folder} (once)", file=sys.stderr)
        wheels = install_pants(lock, home)
        pex = build_pex_tool(home, wheels)
        shutil.rmtree(str(wheels))
        (home / "pex.sh").write_text(pex_script(pex, folder / "pex"))
        link_client(home)
        publish(home, folder)
    except BaseException:
        shutil.rmtree(str(home), ignore_errors=True)
        raise


def remove_abandoned(parent):
    """Removes day-old folders that no link points at: their installations were killed."""
    used = {link.resolve() for link in parent.iterdir() if link.is_symlink()}
    oldest = time.time() - _ABANDONED_AFTER
    for home in parent.iterdir():
        if home.is_dir() and home.resolve() not in used and home.stat().st_mtime < oldest:
            shutil.rmtree(str(home), ignore_errors=True)


def install_pants(lock, home):
    """Makes a virtual environment of the lock's distributions; returns the folder of wheels."""
    venv.create(str(home), with_pip=True)
    python = home / "bin" / "python"
    environment = pip_environment(read_pip_settings(python), os.environ)
    wheels = home / "wheels"
    pip = [str(python), "-EsB", "-m", "pip", "--quiet"]
    fetch = ["wheel", "--wheel-dir", str(wheels), "--require-hashes", "--requirement", str(lock)]
    run(f"fetching what {lock} lists", [*pip, *fetch], environment)
    # No hashes here: where an index has no wheel for this host, one was just built from the source
    # whose hash the lock has.
    files = sorted(str(wheel) for wheel in wheels.glob("*.whl"))
    install = ["install", "--no-index", "--no-deps", "--no-compile"]
    run("installing Pants", [*pip, *install, *files], environment)
    return wheels


def build_pex_tool(home, wheels):
    """Makes the `pex` program from the locked wheel and checks its digest."""
    pex = home / "pex"
    command = [
        *(str(home / "bin" / "python"), "-Es", "-m", "pex"),
        *(f"pex=={_PEX_VERSION}", "--console-script", "pex", "--output-file", str(pex)),
        *("--no-pypi", "--find-links", str(wheels), "--disable-cache"),
        # By default this names the Python that runs now, and the bytes would depend on it.
        *("--python-shebang", "/usr/bin/env python3.9"),
    ]
    environment = {**pip_environment({}, os.environ), "PEX_IGNORE_RCFILES": "1"}
    run("building the `pex` tool", command, environment)
    actual = hashlib.sha256(pex.read_bytes()).hexdigest()
    if actual != _PEX_SHA256:
        raise InstallError(
            "the `pex` tool came out with other bytes than expected.\n"
            f"  expected sha256  {_PEX_SHA256}\n  actual sha256    {actual}"
        )
    return pex


def pex_script(pex, final):
    """Shell commands that make Pants' Python backend take `pex`, which will be at `final`."""
    address, link = final.as_uri(), ""
    if "%" in address:
        # Pants opens the path of an address as it stands, with `%20` where it has a space. Anyone
        # can make files in /tmp, but Pants checks the digest of what it finds there.
        short = Path("/tmp") / f"enginewright-pex-{os.getuid()}-{final.parent.name}"
        link = f"[ -e {short} ] || ln -sf {shlex.quote(str(final))} {short} || :\n"
        address = short.as_uri()
    size = pex.stat().st_size
    versions = [f"v{_PEX_VERSION}|{platform}|{_PEX_SHA256}|{size}" for platform in _PLATFORMS]
    options = {
        "PANTS_PEX_CLI_URL_TEMPLATE": address,
        "PANTS_PEX_CLI_KNOWN_VERSIONS": repr(versions),
    }
    return link + shell_script(options)


def link_client(home):
    """Makes `client` the native client if that runs here; the wheel ships it not executable."""
    (native,) = home.glob("lib/python3*/site-packages/pants/bin/native_client")
    native.chmod(0o755)
    # Outside of a repository it hands over to the server's program: here, to one that says so.
    environment = {**os.environ, "_PANTS_SERVER_EXE": shutil.which("echo") or "/bin/echo"}
    try:
        trial = subprocess.run(
            [str(native), "handed over"], env=environment, cwd="/", capture_output=True
        )
        works = trial.stdout.strip() == b"handed over"
    except OSError:
        works = False
    (home / "client").symlink_to(native.relative_to(home) if works else Path("bin", "pants"))


def publish(home, folder):
    """Makes `folder` a link to `home` in one step, unless a finished installation is there."""
    if folder.is_symlink() and not (folder / "bin" / "python").exists():
        folder.unlink()  # the Python that it was made with is gone from this host
    try:
        folder.symlink_to(home.name)
    except FileExistsError:
        shutil.rmtree(str(home))


def run(step, command, environment):
    """Runs a command in silence. Raises InstallError with its output if it fails."""
    finished = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if finished.returncode:
        raise InstallError(f"{step} failed:\n{finished.stdout.rstrip()}")


def main():
    lock, folder = (Path(argument) for argument in sys.argv[1:])
    try:
        install(lock, folder)
    except (InstallError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"./pants: Pants was not installed: {error}")
    except KeyboardInterrupt:
        sys.exit("./pants: Pants was not installed: interrupted")


if __name__ == "__main__":
    main()
