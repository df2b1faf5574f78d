"""Compile CUDA sources into cubins, PTX, fatbins and the descriptor `kernels.json`.

Inputs: `sources` (one or more), `headers` (any number; the role may be absent).
Parameters: see `Parameters`.
Outputs: for each source `STEM.sm_NN.cubin` per compute capability, `STEM.compute_NN.ptx` where
asked, and `STEM.fatbin`; one `kernels.json`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.compatibility.tables import Row
from enginewright.compatibility.toolkit import toolkit_problems, toolkit_row
from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.kernels.compile import descriptor
from enginewright.kernels.compile.compiler import Compiler
from enginewright.kernels.compile.descriptor import CompiledSource
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.kernels.compile.resources import ResourceBounds
from enginewright.kernels.compile.sources import SourceSet
from enginewright.kernels.compile.toolkit import find_toolkit
from enginewright.progress import report
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


@dataclass(frozen=True)
class Parameters:
    compute_capabilities: tuple[ComputeCapability, ...]
    """Such as `["8.0", "9.0a"]`; one or more, kept in rising order."""
    ptx: ComputeCapability | None
    """Compute capability to keep PTX for; true is the highest of `compute_capabilities`."""
    flags: tuple[str, ...]
    """For nvcc."""
    include_dirs: tuple[str, ...]
    """Relative to the working directory."""
    host_compiler: HostCompiler
    """`{"name": "gcc", "version": "12.2.0"}`, and `path` where it is not the usual one."""
    bounds: ResourceBounds
    """`max_registers` (null: none) and `forbid_spills` (absent: where `max_registers` is given)."""

    @classmethod
    def decode(cls, raw: Mapping[str, Any]) -> Parameters:
        """Raise `InputError` with everything that is wrong."""
        problems = [
            *_architecture_problems(raw),
            *_flag_problems(raw),
            *_include_problems(raw),
            *_register_problems(raw),
        ]
        try:
            host_compiler = HostCompiler.decode(raw.get("host_compiler"))
        except InputError as error:
            raise InputError([*problems, *error.problems]) from error
        raise_if_any(problems)
        capabilities = tuple(sorted(map(ComputeCapability.parse, raw["compute_capabilities"])))
        ptx = raw.get("ptx")
        max_registers, forbid_spills = raw.get("max_registers"), raw.get("forbid_spills")
        return cls(
            capabilities,
            _kept_ptx(ptx, capabilities),
            tuple(raw.get("flags", ())),
            tuple(raw.get("include_dirs", ())),
            host_compiler,
            ResourceBounds(
                max_registers, max_registers is not None if forbid_spills is None else forbid_spills
            ),
        )


def _kept_ptx(
    ptx: str | bool | None, capabilities: tuple[ComputeCapability, ...]
) -> ComputeCapability | None:
    if not ptx:
        return None
    return capabilities[-1] if ptx is True else ComputeCapability.parse(str(ptx))


def _architecture_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    where = "compute_capabilities"
    capabilities = raw.get(where) or ()
    if not capabilities:
        yield Problem("no compute capability", where, 'such as ["8.0", "9.0"]')
    yield from _capability_problems(where, capabilities)
    if len(set(capabilities)) != len(capabilities):
        what = "a compute capability is named twice"
        yield Problem(what, where, actual=", ".join(map(str, capabilities)))
    ptx = raw.get("ptx")
    if ptx and ptx is not True:
        yield from _capability_problems("ptx", (ptx,))


def _flag_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    for flag in raw.get("flags", ()):
        if flag.split("=")[0] in _REFUSED_FLAGS:
            yield Problem(
                "this flag is not for `flags`",
                "flags",
                actual=flag,
                fix="Use the field of the target that says the same, where there is one.",
            )


def _include_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    for folder in raw.get("include_dirs", ()):
        if Path(folder).is_absolute():
            what = "an include folder must be relative"
            yield Problem(what, "include_dirs", "such as csrc", folder)


def _register_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    most = raw.get("max_registers")
    if most is not None and not 16 <= most <= 255:
        yield Problem("not a number of registers", "max_registers", "16 to 255", str(most))


def _capability_problems(field: str, capabilities: Iterable[Any]) -> Iterator[Problem]:
    for capability in capabilities:
        try:
            accepted = str(ComputeCapability.parse(str(capability))) == capability
        except InputError:
            accepted = False
        if not accepted:
            yield Problem("not a compute capability", field, 'such as "8.6"', repr(capability))


def run(request: ActionRequest, outputs: Path) -> Result:
    parameters = Parameters.decode(request.parameters)
    sources = tuple(file.path for file in request.files("sources"))
    headers = tuple(file.path for file in request.inputs.get("headers", ()))
    raise_if_any(list(SourceSet(sources, headers, parameters.include_dirs).problems()))
    with tempfile.TemporaryDirectory(prefix="compile_kernels.") as scratch:
        compiler, release, version = _compiler(parameters, Path(scratch))
        compiled = []
        problems: list[Problem] = []
        for number, source in enumerate(sources, 1):
            report("compile_kernels", f"{source.as_posix()} ({number} of {len(sources)})")
            try:
                compiled.append(compiler.compile(source, outputs, Path(scratch)))
            except InputError as error:
                problems += error.problems
        raise_if_any(problems)
    document = _document(parameters, compiled, release, version)
    canonical_json.write(outputs / descriptor.FILE_NAME, document)
    return {
        "descriptor": descriptor.FILE_NAME,
        "files": sorted(path.name for path in outputs.iterdir()),
        "kernels": sorted(entry.name for source in compiled for entry in source.entries),
    }


def _compiler(parameters: Parameters, scratch: Path) -> tuple[Compiler, Row, str]:
    toolkit = find_toolkit(sys.path, scratch)
    version = toolkit.version()
    release = toolkit_row(version)
    wanted = dict.fromkeys((*parameters.compute_capabilities, *filter(None, (parameters.ptx,))))
    raise_if_any(toolkit_problems(release.key, wanted))
    parameters.host_compiler.require_supported(toolkit.include_directories, release.key)
    parameters.host_compiler.require_installed()
    compiler = Compiler(
        toolkit,
        parameters.host_compiler,
        parameters.compute_capabilities,
        parameters.ptx,
        parameters.flags,
        parameters.include_dirs,
        parameters.bounds,
    )
    return compiler, release, version


def _document(
    parameters: Parameters, compiled: list[CompiledSource], release: Row, version: str
) -> dict[str, Any]:
    host = parameters.host_compiler
    ptx = str(parameters.ptx) if parameters.ptx else None
    return {
        "format": descriptor.FORMAT,
        "toolkit": {"name": "cuda", "version": version},
        "host_compiler": {"name": host.name, "version": host.version},
        "flags": list(parameters.flags),
        "compute_capabilities": [str(one) for one in parameters.compute_capabilities],
        "ptx_version": release["ptx"],
        "sources": [
            source.to_json(ptx, release["ptx"])
            for source in sorted(compiled, key=lambda one: one.name)
        ],
    }


if __name__ == "__main__":
    main(run)
