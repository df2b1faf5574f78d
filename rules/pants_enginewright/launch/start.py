"""Runs a module with the wheels of its tool environment, and nothing of the host's.

The wheels are inputs of the sandbox, hashes and all; unpacked they are kept in a cache outside it,
by content, so that a host unpacks and compiles each wheel once.
"""

from __future__ import annotations

import compileall
import fcntl
import hashlib
import json
import os
import platform
import py_compile
import runpy
import shutil
import stat
import sys
import zipfile
from pathlib import Path

LIBRARY = Path("__library")
WHEELS = Path("__wheels")
UNPACKED = Path(".tools")
OUTPUTS = Path("outputs").absolute()


def unpack(wheel: Path, sha256: str, target: Path) -> None:
    """Unpack a wheel into `target`; compiled files are equal wherever they are made."""
    digest = hashlib.sha256()
    with wheel.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    actual = digest.hexdigest()
    if actual != sha256:
        sys.exit(f"{wheel.name} is damaged: sha256 {actual}, expected {sha256}")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            name = member.filename
            top, _, rest = name.partition("/")
            if top.endswith(".data"):
                kind, _, name = rest.partition("/")
                if kind == "scripts" and name:
                    name = f"bin/{name}"
                elif kind not in ("purelib", "platlib"):
                    continue
            if member.is_dir() or not name:
                continue
            member.filename = name
            path = Path(archive.extract(member, target))
            if member.external_attr >> 16 & stat.S_IXUSR:
                path.chmod(0o755)
    compileall.compile_dir(
        target,
        quiet=2,
        stripdir=str(target),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def link_tree(source: Path, target: Path) -> None:
    for folder, _, files in os.walk(source):
        here = target / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for file in files:
            if not (here / file).exists():
                os.link(Path(folder) / file, here / file)


def environment(wheels: dict[str, str]) -> Path:
    """The folder with all `wheels` (file name to sha256) unpacked side by side, made if need be.

    Ends the program where a wheel is damaged, or a disk full.
    """
    tag = f"{sys.implementation.cache_tag}-{platform.python_version()}-{platform.machine()}"
    key = hashlib.sha256(json.dumps([tag, wheels], sort_keys=True).encode()).hexdigest()
    root = UNPACKED.resolve()
    ready = root / "environments" / key
    if ready.is_dir():
        return ready
    try:
        root.mkdir(exist_ok=True)
        with (root / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ready.is_dir():
                make_environment(wheels, tag, root, ready)
    except OSError as error:
        sys.exit(f"cannot unpack the tools of this step into {root}: {error}")
    return ready


def make_environment(wheels: dict[str, str], tag: str, root: Path, ready: Path) -> None:
    """Make the folder `ready`; whoever calls holds the lock of `root`."""
    scratch = root / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        for name, sha256 in wheels.items():
            wheel = root / "wheels" / f"{sha256}-{tag}"
            if not wheel.is_dir():
                unpack(WHEELS / name, sha256, scratch / name)
                wheel.parent.mkdir(exist_ok=True)
                (scratch / name).rename(wheel)
            link_tree(wheel, scratch / "environment")
        ready.parent.mkdir(exist_ok=True)
        (scratch / "environment").rename(ready)
    finally:
        # What is there by halves would take the space that is lacking.
        shutil.rmtree(scratch, ignore_errors=True)


def flatten(outputs: Path) -> None:
    """Move files of folders to the top, under their whole path as a name: `a/b` becomes `a%2Fb`.

    Servers of the remote execution API differ in whether they keep the folders of a result apart
    from the result: buildbox-casd takes a result with folders inside for one that it has lost. The
    rule undoes this.
    """
    for folder, _, files in os.walk(outputs, topdown=False):
        here = Path(folder)
        for name in files:
            path = (here / name).relative_to(outputs).as_posix()
            (here / name).rename(outputs / path.replace("%", "%25").replace("/", "%2F"))
        if here != outputs:
            here.rmdir()


def main(module: str, *arguments: str) -> None:
    wheels = json.loads(Path("wheels.json").read_text(encoding="utf-8"))
    folders = [LIBRARY.resolve()] if LIBRARY.is_dir() else []
    if wheels:
        folders.append(environment(wheels))
    sys.path[:0] = map(str, folders)
    # For Python programs that the module starts.
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, folders))
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        if OUTPUTS.is_dir():
            flatten(OUTPUTS)


if __name__ == "__main__":
    main(*sys.argv[1:])
