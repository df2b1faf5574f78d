"""What `./pants package` costs beside a plain script that does the same work.

    python benchmarks/overhead.py [--rounds 3] [--json FILE]

Works in a copy of the tree, with the tools installed and the daemon warm. In each round some low
bits of the weights are flipped at random, so that the model was never built before; then
`benchmarks/plain_build.py` and `./pants package engines:qwen3_fp16` build it, in alternating order,
and must make the same plan. Then follow runs with nothing to do, and runs after `rm -r dist`. Times
are medians, with all of them in the JSON; peak memory is of the whole process tree, the daemon and
its own memory included. Needs, in the interpreter that runs it, the packages of the environments
`export` and `tensorrt_rtx`. Run it on an idle host: other work disturbs the times, though hardly
the processor times that are reported beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from commands import Run, run, tree_memory
from repository import ROOT, daemons, stop_daemon

from enginewright import canonical_json
from enginewright.hashing import FileDigest

ENGINE = "engines:qwen3_fp16"
PLAN = Path("dist/engines/qwen3_fp16/engine.plan")
CHECKPOINT = Path("models/qwen3")
TOOLCHAIN = Path("toolchains/rtx1.7_cu13.0.toml")
BARS = {"cold_ratio": 1.15, "no_op_seconds": 0.6, "after_rm_dist_seconds": 1.0}
FLIPPED_BITS = 64
REPEATS = 5  # of runs that take less than a second
SETTLE_SECONDS = 1.0  # for the daemon to hear of changed files


@dataclass(frozen=True)
class Round:
    plain: Run
    pants: Run
    plan: FileDigest
    no_op_seconds: tuple[float, ...]
    after_rm_dist_seconds: tuple[float, ...]


@dataclass(frozen=True)
class Copy:
    """A copy of the tree to work in; what is no part of the tree goes beside it."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Copy:
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
        for name in filter(None, names.stdout.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        return cls(folder)

    def time(self, *command: str) -> Run:
        return run(self.folder, *command, variables={"PYTHONPATH": str(self.folder / "src")})

    def package(self) -> Run:
        return self.time("./pants", "package", ENGINE)

    def plain(self) -> tuple[Run, FileDigest]:
        outputs = self.folder.with_name("plain")
        arguments = [str(CHECKPOINT), str(TOOLCHAIN), str(outputs)]
        figures = self.time(sys.executable, "benchmarks/plain_build.py", *arguments)
        digest = FileDigest.of(outputs / "engine.plan")
        shutil.rmtree(outputs)
        return figures, digest

    def plan(self) -> FileDigest:
        return FileDigest.of(self.folder / PLAN)

    def change_weights(self) -> None:
        weights = self.folder / CHECKPOINT / "model.safetensors"
        weights.write_bytes(flip_low_bits(weights.read_bytes()))
        time.sleep(SETTLE_SECONDS)


def flip_low_bits(safetensors: bytes) -> bytes:
    """The file with the lowest bit flipped in some elements, chosen at random.

    Elements are little-endian and no wider than 4 bytes: bit 0 of every fourth byte is the lowest
    of a mantissa, so that no value becomes infinite or far off.
    """
    data = bytearray(safetensors)
    start = 8 + int.from_bytes(data[:8], "little")
    elements = (len(data) - start) // 4
    for _ in range(FLIPPED_BITS):
        data[start + 4 * secrets.randbelow(elements)] ^= 1
    return bytes(data)


def run_round(copy: Copy, number: int) -> Round:
    copy.change_weights()
    if number % 2:
        (plain, expected), pants = copy.plain(), copy.package()
    else:
        pants, (plain, expected) = copy.package(), copy.plain()
    plan = copy.plan()
    if plan != expected:
        sys.exit(f"the plans differ:\n  plain script  {expected}\n  ./pants       {plan}")
    no_op = tuple(copy.package().seconds for _ in range(REPEATS))
    after_removal = []
    for _ in range(REPEATS):
        shutil.rmtree(copy.folder / "dist")
        time.sleep(SETTLE_SECONDS)
        after_removal.append(copy.package().seconds)
        if copy.plan() != plan:
            sys.exit(f"after `rm -r dist` came another plan: {copy.plan()}, before {plan}")
    print(f"round {number}: {plain.seconds:.1f} s, {pants.seconds:.1f} s", file=sys.stderr)
    return Round(plain, pants, plan, no_op, tuple(after_removal))


def measure(copy: Copy, rounds: int) -> dict[str, Any]:
    copy.time("./pants", "--no-pantsd", "--version")  # installs Pants where it is not yet
    daemon_start = copy.time("./pants", "--version")
    set_up = copy.package()
    copy.plain()  # so that the files of both are in the page cache
    daemon_bytes = tree_memory(daemons(copy.folder))
    results = [run_round(copy, number) for number in range(rounds)]
    return {
        "processors": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "daemon_start_seconds": daemon_start.seconds,
        "daemon_bytes": daemon_bytes,
        "set_up_seconds": set_up.seconds,
        "rounds": [asdict(result) for result in results],
        **summarize(results),
    }


def summarize(rounds: Sequence[Round]) -> dict[str, Any]:
    """Medians over the rounds; the ratio is the median of each round's own."""
    plain, pants = [r.plain.seconds for r in rounds], [r.pants.seconds for r in rounds]
    figures = {
        "cold_plain_seconds": statistics.median(plain),
        "cold_pants_seconds": statistics.median(pants),
        "cold_ratio": statistics.median(b / a for a, b in zip(plain, pants, strict=True)),
        "no_op_seconds": statistics.median(s for r in rounds for s in r.no_op_seconds),
        "after_rm_dist_seconds": statistics.median(
            s for r in rounds for s in r.after_rm_dist_seconds
        ),
        "cold_plain_processor_seconds": statistics.median(
            r.plain.processor_seconds for r in rounds
        ),
        "cold_pants_processor_seconds": statistics.median(
            r.pants.processor_seconds for r in rounds
        ),
        "peak_plain_bytes": max(r.plain.peak_bytes for r in rounds),
        "peak_pants_bytes": max(r.pants.peak_bytes for r in rounds),
    }
    return {
        **figures,
        "peak_ratio": figures["peak_pants_bytes"] / figures["peak_plain_bytes"],
        "processor_ratio": figures["cold_pants_processor_seconds"]
        / figures["cold_plain_processor_seconds"],
        "no_op_ratio": figures["no_op_seconds"] / figures["cold_plain_seconds"],
        "after_rm_dist_ratio": figures["after_rm_dist_seconds"] / figures["cold_plain_seconds"],
        "bars": BARS,
        "passed": {name: figures[name] <= bar for name, bar in BARS.items()},
    }


def table(results: Mapping[str, Any]) -> str:
    plain = results["cold_plain_seconds"]
    rows = [
        ("never built before", plain, results["cold_pants_seconds"], results["cold_ratio"]),
        (
            "  processor time",
            results["cold_plain_processor_seconds"],
            results["cold_pants_processor_seconds"],
            results["processor_ratio"],
        ),
        ("nothing changed", plain, results["no_op_seconds"], results["no_op_ratio"]),
        (
            "after `rm -r dist`",
            plain,
            results["after_rm_dist_seconds"],
            results["after_rm_dist_ratio"],
        ),
    ]
    lines = [f"{'seconds':<22}{'plain script':>14}{'./pants':>10}{'ratio':>9}"]
    lines += [f"{name:<22}{a:>14.2f}{b:>10.2f}{ratio:>9.3f}" for name, a, b, ratio in rows]
    peaks = results["peak_plain_bytes"] / 1e9, results["peak_pants_bytes"] / 1e9
    lines += [
        f"{'peak memory, GB':<22}{peaks[0]:>14.2f}{peaks[1]:>10.2f}{results['peak_ratio']:>9.3f}",
        f"daemon: started in {results['daemon_start_seconds']:.1f} s, "
        f"{results['daemon_bytes'] / 1e9:.2f} GB of its own",
        f"first package run, with tools to install where they were not: "
        f"{results['set_up_seconds']:.1f} s",
        f"{results['processors']} processors, load {results['load_average']:.1f} in the end",
    ]
    for name, verdict in results["passed"].items():
        bar = f"{results[name]:.3f}, at most {BARS[name]:g}"
        lines.append(f"  {'pass' if verdict else 'FAIL'}  {name} {bar}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="`./pants package` beside a plain script.")
    parser.add_argument("--rounds", type=int, default=3, help="models built (default: 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--folder", type=Path, help="where to put the temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="overhead-", dir=given.folder) as name:
        copy = Copy.make(Path(name).resolve() / "tree")
        try:
            results = measure(copy, given.rounds)
        finally:
            stop_daemon(copy.folder)
    print(table(results))
    if given.json:
        canonical_json.write(given.json, json.loads(json.dumps(results)))
    return 0 if all(results["passed"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
