"""Compile C++ sources into a Python extension module for the CPU.

Inputs: `sources` (one or more), and `headers` that they include.
Parameters: see `Parameters`.
Outputs: the module, `NAME` with the suffix of this interpreter's extension modules.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from enginewright.hashing import FileDigest
from enginewright.kernels.compile.extension import ExtensionCompiler, Sanitizer
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.progress import report
from enginewright.schema import UNIQUE, matches
from enginewright.step import ActionRequest, Result, main


@dataclass(frozen=True)
class Parameters:
    name: Annotated[str, matches(r"[A-Za-z_]\w*", "the name of a module")]
    """The one that its sources give to `PYBIND11_MODULE`."""
    host_compiler: HostCompiler
    flags: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    """Relative to the working directory."""
    sanitizers: Annotated[tuple[Sanitizer, ...], UNIQUE] = ()


def run(request: ActionRequest, outputs: Path) -> Result:
    parameters = request.decode(Parameters)
    sources = tuple(file.path for file in request.files("sources"))
    sanitizers = tuple(sorted(parameters.sanitizers))
    parameters.host_compiler.require_installed()
    report("compile_extension", parameters.name)
    compiler = ExtensionCompiler(
        parameters.host_compiler, parameters.flags, parameters.include_dirs, sanitizers
    )
    module = compiler.compile(parameters.name, sources, outputs)
    digest = FileDigest.of(module)
    return {
        "module": parameters.name,
        "file": module.name,
        "sha256": digest.sha256,
        "size": digest.size,
        "sanitizers": list(sanitizers),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "host_compiler": {
            "name": parameters.host_compiler.name,
            "version": parameters.host_compiler.version,
        },
    }


if __name__ == "__main__":
    main(run)
