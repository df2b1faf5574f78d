"""Compile a CUDA source into a library of operators for one runtime.

Inputs: `sources` (one), and `headers` that it includes.
Parameters: see `Parameters`.
Outputs: `NAME.so`.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from enginewright.compatibility.toolkit import toolkit_problems, toolkit_row
from enginewright.compatibility.version import CapabilityText
from enginewright.errors import raise_if_any
from enginewright.hashing import FileDigest
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.kernels.compile.operator_library import OperatorCompiler
from enginewright.kernels.compile.toolkit import find_toolkit
from enginewright.progress import report
from enginewright.schema import NOT_EMPTY, UNIQUE, Name, matches
from enginewright.step import ActionRequest, Result, main


@dataclass(frozen=True)
class Parameters:
    name: Annotated[str, matches(r"[A-Za-z_][\w-]*", "the name of a file, without its ending")]
    interface: Name
    """The runtime that loads the library."""
    compute_capabilities: Annotated[tuple[CapabilityText, ...], NOT_EMPTY, UNIQUE]
    host_compiler: HostCompiler
    flags: tuple[str, ...] = ()
    """For nvcc."""
    include_dirs: tuple[str, ...] = ()
    """Relative to the working directory."""


def run(request: ActionRequest, outputs: Path) -> Result:
    parameters = request.decode(Parameters)
    source = request.file("sources").path
    host = parameters.host_compiler
    with tempfile.TemporaryDirectory(prefix="compile_operators.") as scratch:
        toolkit = find_toolkit(sys.path, Path(scratch))
        release = toolkit_row(toolkit.version())
        capabilities = tuple(sorted(parameters.compute_capabilities))
        raise_if_any(toolkit_problems(release.key, capabilities))
        host.require_supported(toolkit.include_directories, release.key)
        host.require_installed()
        compiler = OperatorCompiler(
            toolkit,
            host,
            capabilities,
            parameters.interface,
            parameters.flags,
            parameters.include_dirs,
            tuple(sys.path),
        )
        report("compile_operators", source.as_posix())
        library = outputs / f"{parameters.name}.so"
        compiler.compile(source, library, Path(scratch))
    digest = FileDigest.of(library)
    return {
        "file": library.name,
        "sha256": digest.sha256,
        "size": digest.size,
        "interface": parameters.interface,
        "compute_capabilities": [str(capability) for capability in capabilities],
    }


if __name__ == "__main__":
    main(run)
