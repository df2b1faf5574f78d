"""Compile C++ sources into a Python extension module for the CPU.

Inputs: `sources` (one or more), `headers` (any number; the role may be absent).
Parameters: see `Parameters`.
Outputs: the module, `NAME` with the suffix of this interpreter's extension modules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.hashing import FileDigest
from enginewright.kernels.compile.extension import SANITIZERS, ExtensionCompiler
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.kernels.compile.sources import SourceSet
from enginewright.progress import report
from enginewright.step import ActionRequest, Result, main


@dataclass(frozen=True)
class Parameters:
    name: str
    """Of the module, the one that its sources give to `PYBIND11_MODULE`."""
    flags: tuple[str, ...]
    include_dirs: tuple[str, ...]
    """Relative to the working directory."""
    host_compiler: HostCompiler
    """`{"name": "gcc", "version": "12.2.0"}`, and `path` where it is not the usual one."""
    sanitizers: tuple[str, ...]
    """None, or some of `address` and `undefined`."""

    @classmethod
    def decode(cls, raw: Mapping[str, Any]) -> Parameters:
        """Raise `InputError` with everything that is wrong."""
        problems: list[Problem] = []
        name = raw.get("name", "")
        if not str(name).isidentifier():
            problems.append(Problem("not the name of a module", "name", actual=repr(name)))
        sanitizers = tuple(sorted(set(raw.get("sanitizers", ()))))
        problems += [
            Problem("unknown sanitizer", "sanitizers", f"of {', '.join(SANITIZERS)}", repr(one))
            for one in sanitizers
            if one not in SANITIZERS
        ]
        try:
            compiler = HostCompiler.decode(raw.get("host_compiler"))
        except InputError as error:
            raise InputError([*problems, *error.problems]) from error
        raise_if_any(problems)
        flags = tuple(raw.get("flags", ()))
        return cls(name, flags, tuple(raw.get("include_dirs", ())), compiler, sanitizers)


def run(request: ActionRequest, outputs: Path) -> Result:
    parameters = Parameters.decode(request.parameters)
    sources = tuple(file.path for file in request.files("sources"))
    headers = tuple(file.path for file in request.inputs.get("headers", ()))
    raise_if_any(list(SourceSet(sources, headers, parameters.include_dirs).problems()))
    parameters.host_compiler.require_installed()
    report("compile_extension", parameters.name)
    compiler = ExtensionCompiler(
        parameters.host_compiler, parameters.flags, parameters.include_dirs, parameters.sanitizers
    )
    module = compiler.compile(parameters.name, sources, outputs)
    digest = FileDigest.of(module)
    return {
        "module": parameters.name,
        "file": module.name,
        "sha256": digest.sha256,
        "size": digest.size,
        "sanitizers": list(parameters.sanitizers),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "host_compiler": {
            "name": parameters.host_compiler.name,
            "version": parameters.host_compiler.version,
        },
    }


if __name__ == "__main__":
    main(run)
