"""Everything that needs a GPU, in one run: tests, compute-sanitizer, and the benchmark.

    python benchmarks/gpu_report.py --out FOLDER [--kernels dist/csrc] [--parts tests sanitizer
        benchmark] [--sweep [KERNEL ..]] [--no-compile] [--dtypes bfloat16]

Prints what failed and the benchmark's table; logs and `kernels.json` go to the folder. Needs
Python, torch, cuda-bindings, numpy and pytest, and compute-sanitizer for its part.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/gpu"]
LAUNCHES = "tests/gpu/launch_every_kernel.py"
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")


def run(name: str, command: list[str], arguments: argparse.Namespace) -> tuple[int, str]:
    """Run a part; keep its output in a log; return its exit code and output."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT / "src"),
        "ENGINEWRIGHT_KERNELS": str(arguments.kernels.resolve()),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    started = time.monotonic()
    done = subprocess.run(
        command,
        cwd=CHECKOUT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    (arguments.out / f"{name}.log").write_text(done.stdout)
    print(f"== {name}: exit {done.returncode}, {time.monotonic() - started:.0f} s", flush=True)
    return done.returncode, done.stdout


def tests(arguments: argparse.Namespace) -> int:
    code, output = run("tests", [*PYTEST, "--tb=line", "-rfE"], arguments)
    lines = output.splitlines()
    interesting = [text for text in lines if re.match(r"FAILED|ERROR|E  |.*Error", text)]
    print("\n".join([*interesting[:40], *lines[-1:]]))
    return code


def sanitizer(arguments: argparse.Namespace) -> int:
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(program).exists():
        print("== sanitizer: skipped, compute-sanitizer is not installed")
        return 0
    # Without a sanitizer first: what fails here is no finding of one.
    worst, output = run("launches", [sys.executable, LAUNCHES], arguments)
    print("\n".join(output.splitlines()[-3:]))
    for tool in SANITIZERS:
        options = ["--tool", tool, "--error-exitcode", "9"]
        command = [program, *options, sys.executable, LAUNCHES]
        code, output = run(f"sanitizer_{tool}", command, arguments)
        lines = [text for text in output.splitlines() if "SUMMARY" in text or "cases" in text]
        print("\n".join(lines[-3:]))
        worst = worst or code
    return worst


def benchmark(arguments: argparse.Namespace) -> int:
    command = [sys.executable, "benchmarks/kernels.py", "--kernels", str(arguments.kernels)]
    command += ["--json", str((arguments.out / "kernels.json").resolve())]
    command += ["--dtypes", *arguments.dtypes]
    command += ["--sweep", *arguments.sweep] if arguments.sweep is not None else []
    command += ["--no-compile"] if arguments.no_compile else []
    code, output = run("benchmark", command, arguments)
    print(output[-9000:])
    return code


def main() -> None:
    parts = {"tests": tests, "sanitizer": sanitizer, "benchmark": benchmark}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kernels", type=Path, default=CHECKOUT / "dist/csrc")
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--sweep", nargs="*")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--dtypes", nargs="+", default=["float16", "bfloat16"])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    codes = {part: parts[part](arguments) for part in arguments.parts}
    print("== " + ", ".join(f"{part} {code or 'ok'}" for part, code in codes.items()))
    sys.exit(1 if any(codes.values()) else 0)


if __name__ == "__main__":
    main()
