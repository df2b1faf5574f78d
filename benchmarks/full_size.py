"""A full-size Qwen3-0.6B from checkpoint to engine, with the direct and with the torch exporter.

    python benchmarks/full_size.py [--dtype bfloat16 float16] [--without-torch] [--json FILE]

The checkpoint has the shape of Qwen3-0.6B and seeded weights; making it is not measured. Three
paths lead to an engine, each step a process of its own, started as Pants starts it:

    cached  KV cache, logits of the last token, two optimization profiles (prefill and decode), by
            the direct exporter; built twice, in two folders, which must give the same bytes
    direct  all logits, no cache, one profile, by the direct exporter
    torch   the same by the torch exporter, which makes no cache

Then `./pants package` makes the engine of `cached` in a repository with a store of its own: its
tools are installed and its daemon is warm, but the checkpoint was never seen. The plan must be that
of the steps. Peak memory is the largest of all steps, and for Pants that of all its processes
together. Needs the packages of the environments `onnx`, `export` and `tensorrt_rtx` in one
interpreter; needs no GPU.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from commands import Run, run
from repository import ROOT, copy_plugin, expect, own_store, stop_daemon
from seeded_checkpoint import CONFIG, write_checkpoint

from enginewright import canonical_json
from enginewright.hashing import FileDigest

PRODUCT = "products.tensorrt_rtx"
"""The room whose steps build."""
TOOLCHAIN = ROOT / "toolchains/rtx1.7_cu13.0.toml"
PREFILL = {
    "batch": [1, 1, 1],
    "sequence": [1, 512, 2048],
    "past_sequence": [0, 1, 2048],
    "total_sequence": [1, 513, 4096],
}
DECODE = {
    "batch": [1, 1, 8],
    "sequence": [1, 1, 1],
    "past_sequence": [1, 1024, 4095],
    "total_sequence": [2, 1025, 4096],
}
SMALL = {
    "head_dim": 128,
    "hidden_size": 256,
    "intermediate_size": 256,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "num_key_value_heads": 1,
    "vocab_size": 256,
}
"""What makes a model of the same kind that is built at once."""
NO_CACHE = {"batch": [1, 1, 1], "sequence": [1, 512, 2048]}
COMPUTE_CAPABILITIES = ["8.9"]
BARS = {
    "cached_seconds": 40.0,
    "cached_peak_bytes": 5e9,
    "export_seconds": 3.0,
    "export_peak_bytes": 300e6,
    "packaged_seconds": 40.0,
    "packaged_peak_bytes": 5e9,
    "times_faster_than_torch": 4.0,
}
MODEL_BUILD = """\
model_checkpoint(name="checkpoint", config="config.json", weights=["model.safetensors"])
onnx_model(
    name="cached",
    checkpoint=":checkpoint",
    task="text-generation-with-past",
    exporter="direct",
    dtype="{dtype}",
    logits="last",
)
"""
ENGINE_BUILD = """\
tensorrt_rtx_engine(
    name="{name}",
    model="models/{model}:cached",
    toolchain="toolchains:rtx1.7_cu13.0",
    profiles={profiles},
    compute_capabilities=["{compute_capability}"],
)
"""


@dataclass(frozen=True)
class Step:
    action: str
    seconds: float
    processor_seconds: float
    """Of all threads: more than `seconds` on an idle host, not much more on a loaded one."""
    peak_bytes: int


@dataclass
class Way:
    """One way from checkpoint to engine."""

    folder: Path
    steps: list[Step] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    @property
    def peak_bytes(self) -> int:
        return max(step.peak_bytes for step in self.steps)

    def step(self, action: str) -> Step:
        return next(step for step in self.steps if step.action == action)

    def run(
        self,
        action: str,
        inputs: Mapping[str, Sequence[Path]],
        parameters: Mapping[str, Any],
        *,
        room: str = "actions",
    ) -> Path:
        """Run a step in its own process, and return its outputs folder; exits when it fails."""
        here = self.folder / action
        here.mkdir(parents=True)
        request = {
            "action": action,
            "inputs": {role: [_describe(path) for path in paths] for role, paths in inputs.items()},
            "parameters": parameters,
        }
        canonical_json.write(here / "request.json", request)
        command = [sys.executable, "-m", f"enginewright.{room}.{action}"]
        given = os.environ.get("PYTHONPATH", "")
        environment = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{given}"}
        with (here / "log").open("wb") as log:
            begin = time.monotonic()
            process = subprocess.Popen(command, cwd=here, env=environment, stdout=log, stderr=log)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{action} failed:\n{(here / 'log').read_text(errors='replace')[-4000:]}")
        processor = usage.ru_utime + usage.ru_stime
        # Linux counts in KiB.
        self.steps.append(Step(action, seconds, processor, usage.ru_maxrss * 1024))
        print(f"  {action}: {seconds:.1f} s, {usage.ru_maxrss / 1e6:.2f} GB", file=sys.stderr)
        return here / "outputs"


def _describe(path: Path) -> dict[str, Any]:
    # Whoever runs the steps knows the digests already; they are no part of a step's time.
    digest = FileDigest.of(path)
    return {"path": str(path), "sha256": digest.sha256, "size": digest.size}


def engine_parameters(profiles: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    pins = tomllib.loads(TOOLCHAIN.read_text(encoding="utf-8"))
    toolchain = {key: pins[key] for key in ("product", "version", "libraries")}
    return {
        "toolchain": toolchain,
        "profiles": list(profiles),
        "compute_capabilities": COMPUTE_CAPABILITIES,
    }


def cached_path(folder: Path, checkpoint: Path, dtype: str) -> tuple[Way, FileDigest]:
    parameters = {
        "task": "text-generation-with-past",
        "opset": 23,
        "dtype": dtype,
        "logits": "last",
    }
    return _direct_path(folder, checkpoint, parameters, [PREFILL, DECODE])


def direct_path(folder: Path, checkpoint: Path, dtype: str) -> Way:
    """The same engine as `torch_path`."""
    parameters = {"task": "text-generation", "opset": 23, "dtype": dtype}
    return _direct_path(folder, checkpoint, parameters, [NO_CACHE])[0]


def _direct_path(
    folder: Path,
    checkpoint: Path,
    parameters: Mapping[str, Any],
    profiles: Sequence[Mapping[str, Any]],
) -> tuple[Way, FileDigest]:
    path = Way(folder)
    weights = checkpoint / "model.safetensors"
    inputs = {"config": [checkpoint / "config.json"], "weights": [weights]}
    verified = path.run("verify_checkpoint", inputs, {})
    exported = path.run(
        "export_direct",
        {"config": [verified / "config.json"], "descriptor": [verified / "checkpoint.json"]},
        parameters,
    )
    model = exported / "model"
    os.link(weights, model / weights.name)
    files = [model / "model.onnx", model / weights.name]
    built = path.run("build", {"model": files}, engine_parameters(profiles), room=PRODUCT)
    digest = FileDigest.of(built / "engine.plan")
    (built / "engine.plan").unlink()
    return path, digest


def torch_path(folder: Path, checkpoint: Path, dtype: str) -> Way:
    path = Way(folder)
    weights = checkpoint / "model.safetensors"
    inputs = {"config": [checkpoint / "config.json"], "weights": [weights]}
    verified = path.run("verify_checkpoint", inputs, {})
    exported = path.run(
        "export_onnx",
        {"config": [verified / "config.json"], "weights": [weights]},
        {"task": "text-generation", "opset": 23, "dtype": dtype},
    )
    files = sorted((exported / "model").iterdir())
    built = path.run("build", {"model": files}, engine_parameters([NO_CACHE]), room=PRODUCT)
    (built / "engine.plan").unlink()
    return path


def engine_build(name: str, model: str, compute_capability: str) -> str:
    """Text of a BUILD file: the engine of `models/MODEL` with both profiles."""
    return ENGINE_BUILD.format(
        name=name,
        model=model,
        profiles=[PREFILL, DECODE],
        compute_capability=compute_capability,
    )


def packaged_path(folder: Path, checkpoint: Path, dtype: str) -> tuple[Run, FileDigest]:
    root = folder / "repository"
    copy_plugin(root)
    (root / "models").mkdir()
    (root / "engines").mkdir()
    write_checkpoint(root / "models" / "small", dtype, {**CONFIG, **SMALL})
    shutil.copytree(checkpoint, root / "models" / "full_size")
    engines = []
    for model in ("small", "full_size"):
        (root / "models" / model / "BUILD").write_text(MODEL_BUILD.format(dtype=dtype))
        engines.append(engine_build(model, model, *COMPUTE_CAPABILITIES))
    (root / "engines" / "BUILD").write_text("".join(engines))
    variables = own_store(folder)
    try:
        for target in ("engines:small", "engines:full_size"):  # the first one installs the tools
            packaged = run(root, "./pants", "package", target, variables=variables)
            print(f"  ./pants package {target}: {packaged.seconds:.1f} s", file=sys.stderr)
    finally:
        stop_daemon(root)
    return packaged, FileDigest.of(root / "dist/engines/full_size/engine.plan")


def measure(folder: Path, dtype: str, *, with_torch: bool) -> dict[str, Any]:
    print(f"{dtype}: making the checkpoint", file=sys.stderr)
    checkpoint = folder / "checkpoint"
    write_checkpoint(checkpoint, dtype)
    cached, plan = cached_path(folder / "cached", checkpoint, dtype)
    _, again = cached_path(folder / "another/folder", checkpoint, dtype)
    (folder / "pants").mkdir()
    packaged, through_pants = packaged_path(folder / "pants", checkpoint, dtype)
    expect("plan through Pants", through_pants, plan)
    shutil.rmtree(folder / "pants")
    export = cached.step("export_direct")
    results: dict[str, Any] = {
        "dtype": dtype,
        **_figures("cached", cached),
        "packaged": asdict(packaged),
        "packaged_seconds": packaged.seconds,
        "packaged_peak_bytes": packaged.peak_bytes,
        "export_seconds": export.seconds,
        "export_peak_bytes": export.peak_bytes,
        "plan": asdict(plan),
        "plan_bit_identical": plan == again,
    }
    if with_torch:
        direct = direct_path(folder / "direct", checkpoint, dtype)
        torch = torch_path(folder / "torch", checkpoint, dtype)
        results |= {
            **_figures("direct", direct),
            **_figures("torch", torch),
            "times_faster_than_torch": torch.seconds / direct.seconds,
            "cached_times_faster_than_torch": torch.seconds / cached.seconds,
        }
    results["passed"] = passed(results)
    return results


def _figures(name: str, way: Way) -> dict[str, Any]:
    return {
        name: [asdict(step) for step in way.steps],
        f"{name}_seconds": way.seconds,
        f"{name}_peak_bytes": way.peak_bytes,
    }


def passed(results: Mapping[str, Any]) -> dict[str, bool]:
    """Each bar that was measured: at most, but at least for the comparison with torch."""
    verdicts = {
        name: results[name] >= bar if name.startswith("times") else results[name] <= bar
        for name, bar in BARS.items()
        if name in results
    }
    return {**verdicts, "plan_bit_identical": results["plan_bit_identical"]}


def table(measured: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"{'dtype':<10}{'path':<8}{'step':<20}{'seconds':>9}{'CPU s':>9}{'peak GB':>9}"]
    for results in measured:
        for way in ("cached", "direct", "torch"):
            for step in results.get(way, ()):
                lines.append(
                    f"{results['dtype']:<10}{way:<8}{step['action']:<20}"
                    f"{step['seconds']:>9.2f}{step['processor_seconds']:>9.2f}"
                    f"{step['peak_bytes'] / 1e9:>9.2f}"
                )
            if way in results:
                processor = sum(step["processor_seconds"] for step in results[way])
                lines.append(
                    f"{results['dtype']:<10}{way:<8}{'all':<20}"
                    f"{results[f'{way}_seconds']:>9.2f}{processor:>9.2f}"
                    f"{results[f'{way}_peak_bytes'] / 1e9:>9.2f}"
                )
        packaged = results["packaged"]
        lines.append(
            f"{results['dtype']:<10}{'cached':<8}{'./pants package':<20}"
            f"{packaged['seconds']:>9.2f}{packaged['processor_seconds']:>9.2f}"
            f"{packaged['peak_bytes'] / 1e9:>9.2f}"
        )
        lines.append(f"plan {results['plan']['sha256']}, {results['plan']['size']} bytes")
        if "torch" in results:
            ratio = results["cached_times_faster_than_torch"]
            lines.append(f"  with a cache and two profiles, {ratio:.4g} times faster than torch")
        for name, verdict in results["passed"].items():
            bar = f", bar {BARS[name]:g}" if name in BARS else ""
            value = results[name] if isinstance(results[name], bool) else f"{results[name]:.4g}"
            lines.append(f"  {'pass' if verdict else 'FAIL'}  {name} {value}{bar}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Full-size Qwen3 from checkpoint to engine.")
    parser.add_argument(
        "--dtype", nargs="+", default=["bfloat16", "float16"], choices=["bfloat16", "float16"]
    )
    parser.add_argument("--without-torch", action="store_true", help="the direct path only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--folder", type=Path, help="where to put the temporary folder (12 GB)")
    given = parser.parse_args()
    measured = []
    for dtype in given.dtype:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            measured.append(measure(Path(folder), dtype, with_torch=not given.without_torch))
    print(table(measured))
    if given.json:
        canonical_json.write(
            given.json, {"processors": os.cpu_count(), "bars": BARS, "results": measured}
        )
    return 0 if all(all(results["passed"].values()) for results in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
