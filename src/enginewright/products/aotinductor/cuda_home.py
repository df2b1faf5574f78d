"""The folder that torch takes for an installed CUDA, laid out of the locked wheels."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from enginewright.errors import InputError, Problem
from enginewright.kernels.compile.toolkit import WHEEL_FOLDER

DRIVER_FUNCTIONS = (
    "cuDeviceGetAttribute",
    "cuFuncSetAttribute",
    "cuGetErrorString",
    "cuLaunchKernel",
    "cuModuleGetFunction",
    "cuModuleLoad",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuTensorMapEncodeTiled",
)
"""What torch's generated code calls of the driver's library."""


def lay_out(import_path: Iterable[str], root: Path, compiler: str) -> None:
    """Make `root` with `bin`, `include`, `nvvm`, and a `lib64` with nothing but the driver.

    A host without a driver has no libcuda to link with. In its place comes a library of the same
    name that defines the functions and is never loaded: a library without them would be dropped by
    the linker (`--as-needed`), and the engine would not name libcuda as one that it needs.
    Raises `InputError` where the wheels of CUDA are not there.
    """
    parts = [Path(entry).absolute() / WHEEL_FOLDER for entry in import_path]
    toolkit = next((part for part in parts if (part / "include/cuda_runtime.h").is_file()), None)
    if toolkit is None:
        raise InputError(
            Problem(
                "the tool environment of the build has no CUDA headers",
                str(WHEEL_FOLDER),
                "nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime",
                fix="add them to its requirements, and lock it anew",
            )
        )
    libraries = root / "lib64"
    libraries.mkdir(parents=True)
    for folder in ("bin", "include", "nvvm"):
        if (toolkit / folder).is_dir():
            (root / folder).symlink_to(toolkit / folder)
    _driver_stub(libraries, compiler)


def _driver_stub(libraries: Path, compiler: str) -> None:
    source = "".join(f'extern "C" int {name}() {{ return 999; }}\n' for name in DRIVER_FUNCTIONS)
    subprocess.run(
        [
            *(compiler, "-shared", "-fPIC", "-xc++", "-", "-Wl,-soname,libcuda.so.1"),
            *("-o", str(libraries / "libcuda.so")),
        ],
        input=source,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    )
