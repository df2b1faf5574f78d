"""Compile CUDA sources into a shared library with operators for one runtime."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError, Problem
from enginewright.kernels.compile.compiler import run_tool
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.kernels.compile.toolkit import WHEEL_FOLDER, Toolkit

TORCH = "torch"
"""The one interface whose headers and library come from a wheel; a source for any other declares
what it calls."""
_TORCH_DEFINITIONS = ("-DTORCH_TARGET_VERSION=0x020b000000000000", "-DUSE_CUDA")
"""The stable interface of torch 2.11, with its part for CUDA."""
_STATIC_RUNTIME = "libcudart_static.a"


@dataclass(frozen=True)
class OperatorCompiler:
    toolkit: Toolkit
    host_compiler: HostCompiler
    compute_capabilities: tuple[ComputeCapability, ...]
    """Machine code for each, and PTX for the last."""
    interface: str
    flags: tuple[str, ...]
    """Passed to nvcc as they are."""
    include_directories: tuple[str, ...]
    """Relative to the working directory."""
    import_path: tuple[str, ...]
    """Where wheels lie: the runtime of CUDA, and torch."""

    def compile(self, source: Path, library: Path, scratch: Path) -> None:
        """Write `library`; raises `InputError` for errors in the source and for missing wheels.

        The host compiler links. CUDA's runtime is in the library: a process may have another
        one. The driver is found when a kernel is launched.
        """
        target = scratch / f"{source.stem}.o"
        run_tool([*self._command(), "-c", source, "--output-file", target], source, scratch)
        link: list[str | Path] = [
            *(self.host_compiler.path, "-shared", "-s", "-Wl,--build-id=none"),
            f"-Wl,-soname,{library.name}",
            *("-o", str(library), str(target)),
            *self._framework(),
            self._find(WHEEL_FOLDER / "lib" / _STATIC_RUNTIME),
            *("-ldl", "-lrt", "-lpthread"),
        ]
        run_tool(link, source, scratch)

    def _command(self) -> list[str | Path]:
        numbers = [capability.number for capability in self.compute_capabilities]
        last = numbers[-1]
        command: list[str | Path] = [
            self.toolkit.program("nvcc"),
            f"--compiler-bindir={self.host_compiler.path}",
            *(f"--generate-code=arch=compute_{n},code=sm_{n}" for n in numbers),
            f"--generate-code=arch=compute_{last},code=compute_{last}",
            "--compiler-options=-fPIC,-fvisibility=hidden,-frandom-seed=0",
            *(_TORCH_DEFINITIONS if self.interface == TORCH else ()),
            *self.flags,
            *(f"-I{folder}" for folder in self.include_directories),
        ]
        folders: list[Path] = [*self.toolkit.include_directories]
        if self.interface == TORCH:
            folders.append(self._find(Path("torch/include")))
        for folder in folders:
            command += ["-isystem", str(folder)]
        return command

    def _framework(self) -> Iterable[str]:
        """torch is linked, since Python loads it without showing its names to others."""
        if self.interface != TORCH:
            return ()
        folder = self._find(Path("torch/lib/libtorch_cpu.so")).parent
        return (f"-L{folder}", "-Wl,--no-as-needed", "-ltorch_cpu", "-Wl,--as-needed")

    def _find(self, name: Path) -> Path:
        for entry in self.import_path:
            path = Path(entry).absolute() / name
            if path.exists():
                return path
        raise InputError(
            Problem(
                "the tool environment of the operator library is incomplete",
                "sys.path",
                str(name),
                "no entry has it",
                "lock nvidia-cuda-runtime, and torch for the interface `torch`",
            )
        )
