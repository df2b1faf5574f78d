"""Compile CUDA sources into cubins, PTX, fatbins and the descriptor `kernels.json`.

Inputs: `sources` (one or more), and `headers` that they include.
Parameters: see `Parameters`.
Outputs: for each source `STEM.sm_NN.cubin` per compute capability, `STEM.compute_NN.ptx` where
asked, and `STEM.fatbin`; one `kernels.json`.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from enginewright import canonical_json
from enginewright.compatibility.toolkit import toolkit_problems, toolkit_row
from enginewright.compatibility.version import CapabilityText, ComputeCapability
from enginewright.document import encode
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.kernels.compile.compiler import Compiler
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.kernels.compile.resources import ResourceBounds
from enginewright.kernels.compile.toolkit import find_toolkit
from enginewright.kernels.descriptor import FILE_NAME, KernelDescriptor, Tool
from enginewright.progress import report
from enginewright.schema import NOT_EMPTY, UNIQUE, Rule, between
from enginewright.step import ActionRequest, Result, main

# What the outputs depend on is said by parameters; these would reach around them.
_REFUSED_FLAGS = frozenset(
    [
        "-arch",
        "--gpu-architecture",
        "-gencode",
        "--generate-code",
        "-code",
        "--gpu-code",
        "-o",
        "--output-file",
        "-ccbin",
        "--compiler-bindir",
        "-maxrregcount",
        "--maxrregcount",
        "-lineinfo",
        "--generate-line-info",
    ]
)


Flag = Annotated[
    str,
    Rule(
        lambda flag: flag.split("=")[0] not in _REFUSED_FLAGS,
        lambda: "a flag of nvcc that no field of the target stands for",
        is_alone=True,
    ),
]
Folder = Annotated[
    str, Rule(lambda path: not Path(path).is_absolute(), lambda: "relative, such as csrc")
]


@dataclass(frozen=True)
class Parameters:
    compute_capabilities: Annotated[tuple[CapabilityText, ...], NOT_EMPTY, UNIQUE]
    """Such as `["8.0", "9.0a"]`; their order says nothing."""
    host_compiler: HostCompiler
    ptx: bool | CapabilityText | None = None
    """Compute capability to keep PTX for; true is the highest of `compute_capabilities`."""
    flags: tuple[Flag, ...] = ()
    """For nvcc."""
    include_dirs: tuple[Folder, ...] = ()
    """Relative to the working directory."""
    max_registers: Annotated[int | None, between(16, 255)] = None
    """Per thread; None is no bound."""
    forbid_spills: bool | None = None
    """None: where `max_registers` is given."""

    @property
    def targets(self) -> tuple[ComputeCapability, ...]:
        return tuple(sorted(self.compute_capabilities))

    @property
    def kept_ptx(self) -> ComputeCapability | None:
        if isinstance(self.ptx, bool) or self.ptx is None:
            return self.targets[-1] if self.ptx else None
        return self.ptx

    @property
    def bounds(self) -> ResourceBounds:
        forbid = self.forbid_spills
        return ResourceBounds(
            self.max_registers, self.max_registers is not None if forbid is None else forbid
        )


def name_problems(sources: Sequence[Path]) -> list[Problem]:
    """Sources that share a stem."""
    stems = Counter(source.stem for source in sources)
    return [
        Problem(
            "two sources have the same name, and so would their outputs",
            str(source),
            fix="rename one, or compile them as separate targets",
        )
        for source in sources
        if stems[source.stem] > 1
    ]


def run(request: ActionRequest, outputs: Path) -> Result:
    parameters = request.decode(Parameters)
    sources = tuple(file.path for file in request.files("sources"))
    raise_if_any(name_problems(sources))
    with tempfile.TemporaryDirectory(prefix="compile_kernels.") as scratch:
        compiler, toolkit_version = _compiler(parameters, Path(scratch))
        compiled = []
        problems: list[Problem] = []
        for number, source in enumerate(sources, 1):
            report("compile_kernels", f"{source.as_posix()} ({number} of {len(sources)})")
            try:
                compiled.append(compiler.compile(source, outputs, Path(scratch)))
            except InputError as error:
                problems += error.problems
        raise_if_any(problems)
    host = parameters.host_compiler
    descriptor = KernelDescriptor(
        toolkit=Tool("cuda", toolkit_version),
        host_compiler=Tool(host.name, host.version),
        flags=parameters.flags,
        compute_capabilities=parameters.targets,
        ptx_version=compiler.ptx_version,
        sources=tuple(sorted(compiled, key=lambda source: source.name)),
    )
    canonical_json.write(outputs / FILE_NAME, encode(descriptor))
    return {
        "descriptor": FILE_NAME,
        "files": sorted(path.name for path in outputs.iterdir()),
        "kernels": sorted(kernel.name for source in compiled for kernel in source.kernels),
    }


def _compiler(parameters: Parameters, scratch: Path) -> tuple[Compiler, str]:
    """And the version of the toolkit."""
    toolkit = find_toolkit(sys.path, scratch)
    version = toolkit.version()
    release = toolkit_row(version)
    ptx = parameters.kept_ptx
    wanted = dict.fromkeys((*parameters.targets, *filter(None, (ptx,))))
    raise_if_any(toolkit_problems(release.key, wanted))
    parameters.host_compiler.require_supported(toolkit.include_directories, release.key)
    parameters.host_compiler.require_installed()
    compiler = Compiler(
        toolkit,
        parameters.host_compiler,
        parameters.targets,
        ptx,
        release["ptx"],
        parameters.flags,
        parameters.include_dirs,
        parameters.bounds,
    )
    return compiler, version


if __name__ == "__main__":
    main(run)
