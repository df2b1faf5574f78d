"""Compile one CUDA source: PTX for each architecture, a cubin from it, and a fatbin of all."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError, raise_if_any
from enginewright.hashing import FileDigest
from enginewright.kernels.compile.declarations import kernel_declarations
from enginewright.kernels.compile.diagnostics import compiler_problems
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.kernels.compile.ptx import Entry, entries
from enginewright.kernels.compile.resources import ResourceBounds, resource_usage
from enginewright.kernels.compile.toolkit import Toolkit
from enginewright.kernels.descriptor import (
    Artifact,
    CompiledSource,
    Cubin,
    Kernel,
    Ptx,
    Resources,
    SourceFile,
)

# nvcc starts the host compiler's own programs and a shell by name.
_PATH = "/usr/bin:/bin"


@dataclass(frozen=True)
class Compiler:
    toolkit: Toolkit
    host_compiler: HostCompiler
    compute_capabilities: tuple[ComputeCapability, ...]
    ptx: ComputeCapability | None
    """Compute capability whose PTX is kept, for devices that are newer than every cubin."""
    ptx_version: str
    """Of the PTX language that the toolkit writes."""
    flags: tuple[str, ...]
    """Passed to nvcc as they are."""
    include_directories: tuple[str, ...]
    """Relative to the working directory, as sources are: no absolute path reaches an output."""
    bounds: ResourceBounds

    def compile(self, source: Path, outputs: Path, scratch: Path) -> CompiledSource:
        """Write `STEM.sm_NN.cubin`, `STEM.compute_NN.ptx` and `STEM.fatbin` into `outputs`.

        Raises `InputError` for errors in the source, and for kernels beyond the bounds.
        """
        declared = kernel_declarations(source.read_text(encoding="utf-8"))
        cubins: dict[ComputeCapability, Path] = {}
        usage: dict[str, dict[str, Resources]] = {}
        found: list[Entry] = []
        for capability in self.compute_capabilities:
            ptx = self._to_ptx(source, capability, scratch)
            found = entries(ptx.read_text(encoding="utf-8"), declared, str(source))
            cubins[capability] = outputs / f"{source.stem}.sm_{capability.number}.cubin"
            usage[str(capability)] = self._assemble(ptx, capability, cubins[capability], source)
        self._check(source, usage)
        kept = None
        if self.ptx:
            kept = outputs / f"{source.stem}.compute_{self.ptx.number}.ptx"
            kept.write_bytes(self._to_ptx(source, self.ptx, scratch).read_bytes())
        fatbin = outputs / f"{source.stem}.fatbin"
        self._join(fatbin, cubins, kept)
        return CompiledSource(
            source.stem,
            SourceFile(source.as_posix(), FileDigest.of(source)),
            Artifact.of(fatbin),
            tuple(Cubin(capability, Artifact.of(path)) for capability, path in cubins.items()),
            Ptx(self.ptx, self.ptx_version, Artifact.of(kept)) if self.ptx and kept else None,
            tuple(_kernel(entry, usage) for entry in found),
        )

    def _check(self, source: Path, usage: Mapping[str, Mapping[str, Resources]]) -> None:
        raise_if_any(
            [
                problem
                for capability, kernels in usage.items()
                for name, resources in kernels.items()
                for problem in self.bounds.problems(
                    f"{source}, kernel `{name}`, compute capability {capability}", resources
                )
            ]
        )

    def _to_ptx(self, source: Path, capability: ComputeCapability, scratch: Path) -> Path:
        number = capability.number
        ptx = scratch / f"{source.stem}.compute_{number}.ptx"
        if not ptx.exists():
            includes = [f"-I{folder}" for folder in self.include_directories]
            for folder in self.toolkit.include_directories:
                includes += ["-isystem", str(folder)]
            command: list[str | Path] = [
                self.toolkit.program("nvcc"),
                f"--compiler-bindir={self.host_compiler.path}",
                "--ptx",
                f"--gpu-architecture=compute_{number}",
                *self.flags,
                *includes,
                source,
                "--output-file",
                ptx,
            ]
            run_tool(command, source, scratch)
        return ptx

    def _assemble(
        self, ptx: Path, capability: ComputeCapability, cubin: Path, source: Path
    ) -> dict[str, Resources]:
        command: list[str | Path] = [
            self.toolkit.program("ptxas"),
            "--verbose",
            f"--gpu-name=sm_{capability.number}",
            ptx,
            "--output-file",
            cubin,
        ]
        if self.bounds.max_registers is not None:
            command.insert(2, f"--maxrregcount={self.bounds.max_registers}")
        return resource_usage(run_tool(command, source, ptx.parent))

    def _join(self, fatbin: Path, cubins: dict[ComputeCapability, Path], ptx: Path | None) -> None:
        images = [
            f"--image3=kind=elf,sm={capability.number},file={path}"
            for capability, path in cubins.items()
        ]
        if ptx and self.ptx:
            images.append(f"--image3=kind=ptx,sm={self.ptx.number},file={ptx}")
        program = self.toolkit.program("fatbinary")
        run_tool([program, f"--create={fatbin}", "-64", *images], fatbin, fatbin.parent)


def run_tool(command: Sequence[str | Path], source: Path, scratch: Path) -> str:
    """Run a tool of the toolkit; return both its streams, or raise what it found wrong."""
    environment = {"PATH": _PATH, "TMPDIR": str(scratch.absolute()), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise InputError(compiler_problems(done.stdout, str(source)))
    return done.stdout


def _kernel(entry: Entry, usage: Mapping[str, Mapping[str, Resources]]) -> Kernel:
    resources = {capability: kernels[entry.name] for capability, kernels in usage.items()}
    return Kernel(entry.name, entry.parameters, entry.max_threads, resources)
