"""What a hit in a remote cache costs for an engine of 1.2 GB, beside a plain copy of the file.

    python benchmarks/remote_cache.py [--rounds 3] [--json FILE]

Builds two engines of benchmarks/full_size.py's model (Qwen3-0.6B's shape, seeded weights, direct
exporter), for compute capability 8.9 and for 8.6, on "machine A", which uploads them to
buildbox-casd on a loopback port. Then each round measures, in seconds:

    plain copy   the second plan, out of the server's storage through a TCP connection of the
                 loopback into a new file, with fsync, which Pants does with what it stores, too
    fresh        `./pants package` of the first engine on a "machine B": no store, no caches, a
                 daemon that has just started. Beside the transfer B hashes and stores the
                 checkpoint of 1.2 GB, which the keys need
    hit          `./pants package` of the second engine there: its plan is looked up, transferred,
                 verified, stored, and copied into dist/
    no-op        the same again: the plan is copied into dist/

No step may run on B, and the plans must have the same bytes. The bar is on the hit. Needs numpy in
the interpreter that runs it, and 12 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commands import run
from full_size import MODEL_BUILD, engine_build
from repository import ROOT, copy_plugin, expect, own_store, stop_daemon
from seeded_checkpoint import write_checkpoint

from enginewright import canonical_json
from enginewright.hashing import FileDigest

sys.path.append(str(ROOT / "tests" / "e2e"))

import reapi_server

FIRST, SECOND = "first", "second"
COMPUTE_CAPABILITIES = {FIRST: "8.9", SECOND: "8.6"}
STEPS = {"build_engine", "write_manifest"}
"""Steps that the second engine does not share with the first."""
BAR = 3.0
BLOCK = 1 << 20


def make_repository(root: Path) -> None:
    copy_plugin(root, "pants.ci.toml")
    (root / "models").mkdir()
    write_checkpoint(root / "models" / "full_size", "bfloat16")
    (root / "models" / "full_size" / "BUILD").write_text(MODEL_BUILD.format(dtype="bfloat16"))
    (root / "engines").mkdir()
    engines = (engine_build(name, "full_size", at) for name, at in COMPUTE_CAPABILITIES.items())
    (root / "engines" / "BUILD").write_text("".join(engines))


@dataclass(frozen=True)
class Machine:
    """The checkout, with a store of its own."""

    root: Path
    folder: Path
    server: str
    options: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str) -> float:
        variables = {
            "PANTS_CONFIG_FILES": "pants.ci.toml",
            "PANTS_REMOTE_STORE_ADDRESS": self.server,
            **own_store(self.folder),
            **self.options,
        }
        return run(self.root, "./pants", *arguments, variables=variables).seconds

    def package(self, *names: str) -> tuple[float, list[dict[str, Any]]]:
        """Seconds, and the steps; there is no dist/ before."""
        shutil.rmtree(self.root / "dist", ignore_errors=True)
        seconds = self.run("package", *(f"engines:{name}" for name in names))
        steps = json.loads((self.root / "dist" / "record.json").read_text())["steps"]
        return seconds, steps

    def plan(self, name: str) -> Path:
        return self.root / "dist" / "engines" / name / "engine.plan"

    def start_daemon(self) -> None:
        self.run("list", "engines:")


def plain_copy(source: Path, target: Path) -> float:
    """Seconds to send a file through the loopback into a new file, fsync included."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = threading.Thread(target=_send, args=(listener, source))
        sender.start()
        begin = time.monotonic()
        with socket.create_connection(listener.getsockname()) as stream, target.open("wb") as out:
            while block := stream.recv(BLOCK):
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
        seconds = time.monotonic() - begin
        sender.join()
    return seconds


def _send(listener: socket.socket, source: Path) -> None:
    connection, _ = listener.accept()
    with connection, source.open("rb") as stream:
        connection.sendfile(stream)


def blob(server: reapi_server.ReapiServer, digest: FileDigest) -> Path:
    return server.storage / "cas" / "objects" / digest.sha256[:2] / digest.sha256[2:]


def copy(source: Path, target: Path, digest: FileDigest) -> float:
    seconds = plain_copy(source, target)
    expect("plain copy", FileDigest.of(target), digest)
    target.unlink()
    return seconds


def run_round(
    machine: Machine, server: reapi_server.ReapiServer, plans: Mapping[str, FileDigest]
) -> dict[str, float]:
    source, copied = blob(server, plans[SECOND]), machine.folder.with_name("copied")
    before = copy(source, copied, plans[SECOND])
    try:
        machine.start_daemon()
        fresh, steps = machine.package(FIRST)
        expect("sources on a fresh machine", {step["from"] for step in steps}, {"remote cache"})
        expect("first plan", FileDigest.of(machine.plan(FIRST)), plans[FIRST])
        hit, steps = machine.package(SECOND)
        found = {step["action"] for step in steps if step["from"] == "remote cache"}
        expect("hits", found & STEPS, STEPS)
        expect("steps that ran", [step for step in steps if step["from"] == "ran here"], [])
        expect("second plan", FileDigest.of(machine.plan(SECOND)), plans[SECOND])
        no_op, steps = machine.package(SECOND)
        expect("sources of a no-op", {step["from"] for step in steps}, {"memory"})
    finally:
        stop_daemon(machine.root)
        shutil.rmtree(machine.folder)
    # Before and after: a disk that was just written to is slower.
    after = copy(source, copied, plans[SECOND])
    plain = (before + after) / 2
    return {"plain_copy": plain, "fresh": fresh, "hit": hit, "no_op": no_op, "ratio": hit / plain}


def measure(folder: Path, rounds: int) -> dict[str, Any]:
    root = folder / "checkout"
    print("making the checkpoint", file=sys.stderr)
    make_repository(root)
    programs = reapi_server.install(folder / "programs")
    server = reapi_server.ReapiServer(programs, folder / "server")
    server.start()
    first = Machine(root, folder / "a", server.address)
    try:
        first.start_daemon()
        print("building on machine A", file=sys.stderr)
        build, _ = first.package(FIRST, SECOND)
        plans = {name: FileDigest.of(first.plan(name)) for name in COMPUTE_CAPABILITIES}
        stop_daemon(first.root)
        shutil.rmtree(first.folder)
        print(f"  {build:.0f} s, uploads included", file=sys.stderr)
        results = []
        for number in range(rounds):
            own = folder / f"b{number}"
            options = {"PANTS_NAMED_CACHES_DIR": str(own / "caches")}
            machine = Machine(root, own, server.address, options)
            results.append(run_round(machine, server, plans))
            shown = ", ".join(f"{name} {value:.2f}" for name, value in results[-1].items())
            print(f"  round {number}: {shown}", file=sys.stderr)
    finally:
        stop_daemon(first.root)
        server.stop()
    medians = {name: statistics.median(r[name] for r in results) for name in results[0]}
    return {"plan_bytes": plans[SECOND].size, "build": build, "rounds": results, **medians}


def table(results: Mapping[str, Any]) -> str:
    rows: Sequence[tuple[str, str]] = (
        ("plain copy over the loopback", "plain_copy"),
        ("hit", "hit"),
        ("no-op", "no_op"),
        ("fresh machine", "fresh"),
        ("two built and uploaded on A", "build"),
    )
    lines = [f"{'median seconds':<32}{'':>8}{'ratio':>8}"]
    for label, name in rows:
        ratio = results[name] / results["plain_copy"]
        lines.append(f"{label:<32}{results[name]:>8.2f}{ratio:>8.2f}")
    mark = "pass" if results["ratio"] <= BAR else "FAIL"
    lines += [
        f"plan of {results['plan_bytes'] / 1e9:.2f} GB; {os.cpu_count()} processors, "
        f"load {os.getloadavg()[0]:.1f} in the end",
        f"  {mark}  ratio {results['ratio']:.2f} (median of the rounds' own), at most {BAR:g}",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="A hit of 1.2 GB in a remote cache.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--folder", type=Path, help="where to put the temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="remote-cache-", dir=given.folder) as folder:
        results = measure(Path(folder).resolve(), given.rounds)
    print(table(results))
    if given.json:
        canonical_json.write(given.json, {"processors": os.cpu_count(), **results})
    return 0 if results["ratio"] <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
