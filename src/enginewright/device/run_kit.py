"""Run a device kit: `python3 run.py`, in its folder, on a host with a GPU and its driver.

This file is copied into each kit and needs nothing but Python. `kit.json` names the tests, and
every file by its sha256: in a part of the kit, or left out of it. Each test is a step in a folder
of its own; what it says goes into one report, with the digest of `kit.json`. Ends with 1 where a
test failed, and with 2 where the kit is not whole.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KIT = Path(__file__).resolve().parent
BLOCK = 1 << 20
LOG = 20_000
"""Characters of a failed step's messages that are kept."""


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(BLOCK), b""):
            digest.update(block)
    return digest.hexdigest()


def unpack(kit: dict[str, Any], store: Path) -> None:
    """Write the files of the parts, in their order, to `store`, under their sha256."""
    store.mkdir(parents=True, exist_ok=True)
    blocks = part_blocks(kit)
    rest = b""
    for sha256 in kit["order"]:
        digest, missing = hashlib.sha256(), kit["files"][sha256]
        with (store / sha256).open("wb") as stream:
            while missing:
                rest = rest or next(blocks, b"")
                if not rest:
                    sys.exit("the parts of the kit end too early")
                piece, rest = rest[:missing], rest[missing:]
                missing -= len(piece)
                digest.update(piece)
                stream.write(piece)
        if digest.hexdigest() != sha256:
            sys.exit(f"the kit is damaged: a file is {digest.hexdigest()}, expected {sha256}")


def part_blocks(kit: dict[str, Any]) -> Iterator[bytes]:
    for name in kit["parts"]:
        if not (KIT / name).is_file():
            print(f"part {name} of the kit is not here", file=sys.stderr)
            sys.exit(2)
        with (KIT / name).open("rb") as stream:
            yield from iter(lambda: stream.read(BLOCK), b"")


def take_left_out(kit: dict[str, Any], store: Path, folders: list[str]) -> None:
    """Find the files that were left out, by their content, below `folders`."""
    wanted = dict(kit["left_out"])
    sizes = {kit["files"][sha256] for sha256 in wanted}
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if wanted and path.is_file() and path.stat().st_size in sizes:
                sha256 = sha256_of(path)
                if wanted.pop(sha256, None) is not None:
                    (store / sha256).symlink_to(path.resolve())
    if wanted:
        for sha256, name in sorted(wanted.items()):
            print(f"left out of the kit and not found: {name}, sha256 {sha256}", file=sys.stderr)
        print("name their folder: --files FOLDER", file=sys.stderr)
        sys.exit(2)


def lay_out(files: dict[str, Any], store: Path, root: Path) -> None:
    """The files of `store` at their paths below `root`: a package has no links out of itself."""
    for path, sha256 in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        source = (store / sha256).resolve()
        try:
            os.link(source, target)
        except OSError:  # another file system
            shutil.copyfile(source, target)


def packages(kit: dict[str, Any]) -> dict[str, Any]:
    """Versions of the packages that the tests were locked with, and those that are here."""
    found = {}
    for name, locked in kit["locked"].items():
        try:
            here = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            here = None
        found[name] = {"locked": locked, "here": here}
    return found


def run_test(test: dict[str, Any], work: Path, path: str, seconds: float) -> dict[str, Any]:
    folder = work / test["address"].replace("/", ".").replace(":", ".")
    lay_out(test["inputs"], work / "files", folder)
    (folder / "request.json").write_text(test["request"], encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        environment.setdefault(name, str(work / "caches" / name))
    command = [sys.executable, "-B", "-m", test["module"]]
    begin = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, out, err = None, "", f"stopped after {seconds} s"
    report = folder / "outputs" / "report.json"
    return {
        "address": test["address"],
        "action": test["action"],
        "exit_code": code,
        "seconds": round(time.monotonic() - begin, 1),
        "report": json.loads(report.read_text(encoding="utf-8")) if report.is_file() else None,
        "output": out[-LOG:],
        "messages": "" if code == 0 else err[-LOG:],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests of a device kit.")
    parser.add_argument("--report", default="report.json", help="file to write; report.json")
    parser.add_argument("--files", action="append", default=[], help="folder with left out files")
    parser.add_argument("--only", action="append", default=[], help="address of a test to run")
    parser.add_argument("--seconds", type=float, default=600, help="for each test; 600")
    given = parser.parse_args()
    kit = json.loads((KIT / "kit.json").read_text(encoding="utf-8"))
    work = KIT / "work"
    shutil.rmtree(work, ignore_errors=True)
    unpack(kit, work / "files")
    take_left_out(kit, work / "files", given.files)
    lay_out(kit["library"], work / "files", work / "library")
    for wheel in kit["wheels"].values():
        zipfile.ZipFile(work / "files" / wheel).extractall(work / "wheels")
    path = os.pathsep.join([str(work / "library"), str(work / "wheels")])
    document: dict[str, Any] = {
        "kit": sha256_of(KIT / "kit.json"),
        "python": platform.python_version(),
        "packages": packages(kit),
        "tests": [],
    }
    for test in kit["tests"]:
        if given.only and test["address"] not in given.only:
            continue
        found = run_test(test, work, path, given.seconds)
        told = f"{test['address']}: exit code {found['exit_code']}, {found['seconds']} s"
        print(told, found["output"], found["messages"], sep="\n", flush=True)
        document["tests"].append(found)
        text = json.dumps(document, sort_keys=True, indent=2) + "\n"
        Path(given.report).write_text(text, encoding="utf-8")
    return 0 if all(found["exit_code"] == 0 for found in document["tests"]) else 1


if __name__ == "__main__":
    sys.exit(main())
