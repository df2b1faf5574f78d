"""Builds an engine of an ONNX model, and prints the plan's sha256 beside what the host is.

    PYTHONPATH=src python benchmarks/plan_digest.py MODEL.onnx [--times 3]

Run it on two hosts and compare: the plan must be the same whatever the C library, the version of
CPython, the number of CPUs and the path. For an ONNX model with the axes of a decoder with a KV
cache, such as `./pants package models/qwen3:kv_fp16` makes. Needs the packages of the environment
`tensorrt_rtx`; needs no GPU. Exits 1 where builds on this host differ.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import tomllib
from pathlib import Path

from full_size import DECODE, PREFILL, PRODUCT, TOOLCHAIN, Way

from enginewright.hashing import FileDigest
from enginewright.products.tensorrt_rtx.variant import TENSORRT_RTX


def pins() -> dict[str, object]:
    """The toolchain's pins; the bindings' library is another one for each CPython."""
    toolchain = tomllib.loads(TOOLCHAIN.read_text(encoding="utf-8"))
    bindings = Path(TENSORRT_RTX.load().__file__).parent / "tensorrt_rtx.so"
    libraries = {**toolchain["libraries"], bindings.name: FileDigest.of(bindings).sha256}
    return {
        "product": toolchain["product"],
        "version": toolchain["version"],
        "libraries": libraries,
    }


def build(folder: Path, model: Path) -> str:
    parameters = {
        "toolchain": pins(),
        "profiles": [PREFILL, DECODE],
        "compute_capabilities": ["8.9"],
    }
    names = [model.name, *(path.name for path in model.parent.glob("*.safetensors"))]
    inputs = [folder / "model" / name for name in sorted(names)]
    for path in inputs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to((model.parent / path.name).resolve())
    built = Way(folder).run("build", {"model": inputs}, parameters, room=PRODUCT)
    return FileDigest.of(built / "engine.plan").sha256


def main() -> int:
    parser = argparse.ArgumentParser(description="The digest of a plan built on this host.")
    parser.add_argument("model", type=Path, help="its weights lie beside it")
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    digests = set()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.times):
            # Each path longer than the one before.
            digests.add(build(Path(folder) / "/".join(["folder"] * (number + 1)), given.model))
    libc = " ".join(platform.libc_ver())
    print(
        f"CPython {platform.python_version()}, {libc}, {os.cpu_count()} CPUs: {given.times} builds"
    )
    print("\n".join(sorted(digests)))
    return 0 if len(digests) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
