"""What `./pants` costs in a repository of 20 engines over 2 models, and of 200 over 20.

    python benchmarks/many_engines.py [--kind tensorrt] [--rounds 5] [--json FILE]

Makes a git repository in a temporary folder: the rules and the library of this checkout, models of
one layer with weights that were never seen before, and ten engines for each model, each from
another graph or with other options. All of it is built once, for real. Then, with the daemon warm,
each round measures, in seconds as the user waits for them:

    no-op           `./pants package ::`, nothing changed
    description     the same after an edit of a BUILD file that no step reads
    one engine      the same after an edit of one field of one engine: its steps run, no others;
                    `beyond the steps` is that time without the longest chain of the steps
    changed-since   `./pants --changed-since=HEAD --changed-dependents=transitive list` after an
                    edit of one model's config.json
    floor           `./pants list engines/m00:e0`, nothing changed: the client, the handshake with
                    the daemon, and next to no work

What ran and what was listed is checked each time. The bars: a median of at most 2 s with the most
engines, and growth from the smallest to the largest repository no faster than their number. With
`--kind tensorrt` the time of one engine has no bar, only what is beyond its steps: no build system
makes TensorRT start faster. Needs numpy in the interpreter that runs it.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repository import copy_plugin, expect, stop_daemon
from seeded_checkpoint import write_checkpoint

from enginewright import canonical_json

ENGINES_PER_MODEL = 10
BAR_SECONDS = 2.0
SETTLE_SECONDS = 1.0  # for the daemon to hear of changed files
CONFIG: Mapping[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "eos_token_id": 0,
    "head_dim": 16,
    "hidden_act": "silu",
    "hidden_size": 32,
    "intermediate_size": 64,
    "max_position_embeddings": 1024,
    "model_type": "qwen3",
    "num_attention_heads": 4,
    "num_hidden_layers": 1,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000,
    "tie_word_embeddings": True,
    "vocab_size": 256,
}
CHECKPOINT_BUILD = """\
model_checkpoint(name="checkpoint", config="config.json", weights=["model.safetensors"])
"""
MODEL_BUILD = """\
onnx_model(
    name="{name}",
    checkpoint=":checkpoint",
    task="{task}",
    exporter="direct",
    logits="{logits}",
    dtype="{dtype}",
)
"""
TENSORRT_BUILD = """\
tensorrt_rtx_engine(
    name="e{number}",
    description="{description}",
    model="models/{model}:all",
    toolchain="toolchains:rtx1.7_cu13.0",
    profiles=[{{"batch": (1, 1, 4), "sequence": (1, 64, {longest})}}],
    compute_capabilities=["8.9"],
)
"""
ONNXRUNTIME_BUILD = """\
onnxruntime_engine(
    name="e{number}",
    description="{description}",
    model="models/{model}:{graph}",
    optimization_level="{level}",
    quantized_matmul="{matmul}",
)
"""
LEVELS = ("disabled", "basic", "extended")


@dataclass(frozen=True)
class Kind:
    """A kind of engine: what the graphs are, how engines of a model differ, how they are built."""

    alias: str
    dtype: str
    graphs: Mapping[str, tuple[str, str]]
    """Task and logits by name of the `onnx_model`."""
    build: str
    manifest: str
    beside: tuple[str, ...] = ()
    """Steps that read what was changed, beside the build."""

    def models(self) -> str:
        """BUILD file of a checkpoint and its graphs."""
        graphs = [
            MODEL_BUILD.format(name=name, task=task, logits=logits, dtype=self.dtype)
            for name, (task, logits) in self.graphs.items()
        ]
        return CHECKPOINT_BUILD + "".join(graphs)

    def engine(self, model: str, number: int, *, changed: bool, description: str) -> str:
        """An engine's lines in a BUILD file; `changed` gives it a field that no other has."""
        if self.alias == "tensorrt_rtx_engine":
            return TENSORRT_BUILD.format(
                model=model,
                number=number,
                description=description,
                longest=256 + 8 * number + 4 * changed,
            )
        return ONNXRUNTIME_BUILD.format(
            model=model,
            number=number,
            description=description,
            graph=list(self.graphs)[number // len(LEVELS)],
            level=LEVELS[number % len(LEVELS)],
            matmul="int8" if changed else "float32",
        )

    def engines(self, model: str, *, changed: int | None = None, description: str = "") -> str:
        """BUILD file of a model's engines; the description is that of the first."""
        return "".join(
            self.engine(
                model,
                number,
                changed=number == changed,
                description="An engine." if number or not description else description,
            )
            for number in range(ENGINES_PER_MODEL)
        )


KINDS = {
    "tensorrt": Kind(
        "tensorrt_rtx_engine",
        "float16",
        {"all": ("text-generation", "all")},
        "build_engine",
        "write_manifest",
        ("estimate_size",),
    ),
    "onnxruntime": Kind(
        "onnxruntime_engine",
        "float32",
        {
            "all": ("text-generation", "all"),
            "last": ("text-generation", "last"),
            "cached_all": ("text-generation-with-past", "all"),
            "cached_last": ("text-generation-with-past", "last"),
        },
        "build_onnxruntime_engine",
        "write_manifest",
    ),
}


@dataclass(frozen=True)
class Repository:
    root: Path
    models: tuple[str, ...]
    kind: Kind

    @classmethod
    def make(cls, root: Path, engines: int, kind: Kind) -> Repository:
        copy_plugin(root)
        models = tuple(f"m{number:02}" for number in range(engines // ENGINES_PER_MODEL))
        for model in models:
            folder = root / "models" / model
            folder.parent.mkdir(exist_ok=True)
            write_checkpoint(folder, "float16", CONFIG, seed=secrets.randbits(32))
            (folder / "BUILD").write_text(kind.models())
            (root / "engines" / model).mkdir(parents=True)
            (root / "engines" / model / "BUILD").write_text(kind.engines(model))
        (root / ".gitignore").write_text("/.pids/\n/.pants.d/\n/dist/\n")
        repository = cls(root, models, kind)
        repository.git("init", "--quiet")
        repository.git("add", "--all")
        repository.git("commit", "--quiet", "--message", "First")
        return repository

    @property
    def engines(self) -> list[str]:
        return [
            f"engines/{model}:e{number}"
            for model in self.models
            for number in range(ENGINES_PER_MODEL)
        ]

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=A Benchmark", "-c", "user.email=benchmark@example.invalid")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True)

    def start(self, *arguments: str, **streams: Any) -> subprocess.Popen[str]:
        command = ["./pants", "--no-dynamic-ui", "--enginewright-record=dist/record.json"]
        return subprocess.Popen(
            [*command, *arguments],
            cwd=self.root,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            **streams,
        )

    def build_all(self) -> float:
        """Package everything for the first time; prints each fiftieth step that is done."""
        begin, done, seen = time.monotonic(), 0, []
        process = self.start("package", "::", stderr=subprocess.STDOUT)
        assert process.stdout is not None
        for line in process.stdout:
            seen.append(line)
            if "Completed: " in line:
                done += 1
                if done % 50 == 0:
                    print(f"  {done} steps after {time.monotonic() - begin:.0f} s", file=sys.stderr)
        if process.wait():
            sys.exit(f"the first build failed:\n{''.join(seen)[-4000:]}")
        seconds = time.monotonic() - begin
        packaged = list((self.root / "dist").rglob("engine.json"))
        expect("engines in dist/", len(packaged), len(self.engines))
        return seconds

    def run(self, *arguments: str) -> tuple[float, str]:
        """Seconds, and standard output; exits with what it printed when it fails."""
        with tempfile.TemporaryFile("w+") as log:
            begin = time.monotonic()
            process = self.start(*arguments, stderr=log)
            output, _ = process.communicate()
            seconds = time.monotonic() - begin
            log.seek(0)
            if process.returncode:
                sys.exit(f"./pants {' '.join(arguments)} failed:\n{output}{log.read()[-4000:]}")
        return seconds, output

    def package(self) -> tuple[float, list[dict[str, Any]]]:
        """Seconds, and the steps that ran."""
        (self.root / "dist" / "record.json").unlink(missing_ok=True)
        seconds, _ = self.run("package", "::")
        steps = json.loads((self.root / "dist" / "record.json").read_text())["steps"]
        built = [step["address"] for step in steps if step["action"] == self.kind.build]
        expect("engines in the record", built, sorted(self.engines))
        return seconds, [step for step in steps if step["from"] == "ran here"]

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text)
        time.sleep(SETTLE_SECONDS)

    def restore(self) -> None:
        self.git("checkout", "--quiet", ".")
        time.sleep(SETTLE_SECONDS)


def run_round(repository: Repository, number: int) -> dict[str, float]:
    """Each number up to ENGINES_PER_MODEL times the models edits another engine."""
    kind, count = repository.kind, len(repository.models)
    model, engine = repository.models[number % count], number // count
    build, config = f"engines/{model}/BUILD", f"models/{model}/config.json"
    target = f"engines/{model}:e{engine}"
    floor, listed = repository.run("list", target)
    expect("list", listed.split(), [target])
    no_op, ran = repository.package()
    expect("steps that ran with nothing changed", ran, [])

    repository.write(build, kind.engines(model, description=secrets.token_hex(8)))
    description, ran = repository.package()
    expect("steps that ran for a description", ran, [])

    repository.write(build, kind.engines(model, changed=engine))
    one_engine, ran = repository.package()
    expect("the engine", {step["address"] for step in ran}, {target})
    spent = {step["action"]: step["milliseconds"] / 1000 for step in ran}
    expect("steps for one engine", set(spent), {kind.build, *kind.beside, kind.manifest})
    # The manifest needs the others.
    chain = max(spent[action] for action in (kind.build, *kind.beside)) + spent[kind.manifest]
    repository.restore()
    repository.package()

    changed = {**CONFIG, "dtype": "float16", "rope_theta": 10000 + secrets.randbelow(1000)}
    repository.write(config, json.dumps(changed))
    changed_since, listed = repository.run(
        "--changed-since=HEAD", "--changed-dependents=transitive", "list"
    )
    selected = sorted(line for line in listed.split() if line.startswith("engines/"))
    expect("changed", selected, [f"engines/{model}:e{n}" for n in range(ENGINES_PER_MODEL)])
    repository.restore()
    repository.package()
    return {
        "floor": floor,
        "no_op": no_op,
        "description": description,
        "one_engine": one_engine,
        "one_engine_beyond_steps": one_engine - chain,
        "changed_since": changed_since,
    }


def measure(folder: Path, engines: int, kind: Kind, rounds: int) -> dict[str, Any]:
    print(f"{engines} engines", file=sys.stderr)
    repository = Repository.make(folder / str(engines), engines, kind)
    try:
        repository.run("--version")  # starts the daemon
        first = repository.build_all()
        print(f"  built in {first:.0f} s", file=sys.stderr)
        repository.package()
        results = []
        for number in range(rounds):
            results.append(run_round(repository, number))
            shown = ", ".join(f"{name} {value:.2f}" for name, value in results[-1].items())
            print(f"  round {number}: {shown}", file=sys.stderr)
    finally:
        stop_daemon(repository.root)
    medians = {name: statistics.median(r[name] for r in results) for name in results[0]}
    size = sum(file.stat().st_size for file in (repository.root / "dist").rglob("*"))
    return {
        "engines": engines,
        "first_build": first,
        "dist_bytes": size,
        "rounds": results,
        **medians,
    }


def verdicts(
    measured: Sequence[Mapping[str, Any]], kind: Kind
) -> Iterator[tuple[str, float, float]]:
    """Name, value, and the most that it may be."""
    smallest, largest = measured[0], measured[-1]
    steps = "_beyond_steps" if kind.alias == "tensorrt_rtx_engine" else ""
    for name in ("no_op", "description", f"one_engine{steps}", "changed_since"):
        yield f"{name} seconds", largest[name], BAR_SECONDS
        if smallest is not largest:
            growth = largest[name] / smallest[name]
            yield f"{name} growth", growth, largest["engines"] / smallest["engines"]


def table(measured: Sequence[Mapping[str, Any]], kind: Kind) -> str:
    heads = [f"{results['engines']} engines" for results in measured]
    lines = [f"{'median seconds':<28}" + "".join(f"{head:>14}" for head in heads)]
    rows = {
        "first build": "first_build",
        "floor: list of one target": "floor",
        "no-op": "no_op",
        "description": "description",
        "one engine": "one_engine",
        "  beyond the steps": "one_engine_beyond_steps",
        "changed-since": "changed_since",
    }
    for label, name in rows.items():
        lines.append(f"{label:<28}" + "".join(f"{results[name]:>14.2f}" for results in measured))
    sizes = " and ".join(f"{results['dist_bytes'] / 1e6:.0f} MB" for results in measured)
    lines.append(f"dist/, which Pants writes anew each time, has {sizes}")
    lines.append(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} in the end")
    for name, value, bar in verdicts(measured, kind):
        mark = "pass" if value <= bar else "FAIL"
        lines.append(f"  {mark}  {name} {value:.2f}, at most {bar:g}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Pants with many engines.")
    parser.add_argument("--engines", type=int, nargs="+", default=[20, 200], help="multiples of 10")
    parser.add_argument("--kind", choices=sorted(KINDS), default="onnxruntime")
    parser.add_argument("--rounds", type=int, default=5, help="20 at most")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--folder", type=Path, help="where to put the temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="many-engines-", dir=given.folder) as folder:
        measured = [
            measure(Path(folder).resolve(), engines, KINDS[given.kind], given.rounds)
            for engines in sorted(given.engines)
        ]
    print(table(measured, KINDS[given.kind]))
    if given.json:
        canonical_json.write(
            given.json, {"processors": os.cpu_count(), "kind": given.kind, "results": measured}
        )
    return 0 if all(value <= bar for _, value, bar in verdicts(measured, KINDS[given.kind])) else 1


if __name__ == "__main__":
    sys.exit(main())
