"""The engine's package by itself: files there and unchanged, libraries that go together."""

from __future__ import annotations

import re
from pathlib import Path

from enginewright.doctor.engine_facts import EngineFacts
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.elf import ElfError, ElfInfo, read_elf
from enginewright.engines.check import Fault, FileFault, check_files, inside
from enginewright.engines.registry import products
from enginewright.engines.room import load

_CUDA_LIBRARY = re.compile(
    r"lib(?:cudart|cublas|cublasLt|nvrtc|nvrtc-builtins|nvJitLink|npp\w+)\.so\.(\d{1,3})(?:\.\d+)*",
    re.ASCII,
)
"""CUDA libraries whose soname has the toolkit's major version (cuFFT's and others' do not)."""
_SHARED_LIBRARY = re.compile(r".+\.so(?:\.\d+)*", re.ASCII)


def package_findings(folder: Path, engine: EngineFacts) -> list[Finding]:
    """Findings that need no GPU and no driver."""
    findings = [
        _error("engine.manifest", str(problem), "the doctor cannot check what it cannot read")
        for problem in engine.problems
    ]
    findings += [_file(fault) for fault in check_files(folder, engine.files)]
    findings += _components(engine)
    findings += _libraries(folder, engine)
    product = products().get(engine.product)
    if product is not None and product.findings is not None:
        findings += load(product.findings)(folder, engine)
    return findings


REPACKAGE = "package the engine again: pants package ENGINE"


def _error(code: str, seen: str, why: str, fix: str = REPACKAGE) -> Finding:
    return Finding(code, Link.APPLICATION, Severity.ERROR, seen, why, fix)


def _file(found: FileFault) -> Finding:
    if found.fault == Fault.OUTSIDE:
        return _error(
            "engine.unsafe-path",
            f"engine.json names `{found.name[:100]}`, which is outside the package",
            "a package has only files under its own folder; the file was not opened",
        )
    if found.actual is None:
        return _error(
            "engine.file-missing",
            f"{found.name} is not in the package",
            "the engine cannot be loaded or served without it",
        )
    return _error(
        "engine.file-changed",
        f"{found.name} has sha256 {found.actual.sha256} and {found.actual.size} bytes, "
        f"engine.json says {found.expected.sha256} and {found.expected.size}",
        "the file is damaged, or was replaced after the build",
    )


def _components(engine: EngineFacts) -> list[Finding]:
    return [
        _error(
            f"engine.{component.kind}-missing",
            f"the engine needs {component.kind} `{component.name}`, whose file "
            f"`{component.path or 'not named'}` is not in the package",
            "the build had it loaded; the runtime would fail with `could not find plugin`"
            if component.kind == "plugin"
            else "the runtime would have no code for the operation",
            "list the library in the engine's target, or build with it inside the plan",
        )
        for component in engine.components
        if not component.embedded and component.path not in engine.files
    ]


def present_libraries(folder: Path, engine: EngineFacts) -> dict[str, Path]:
    """The shared libraries among the package's files, by their paths in it."""
    paths = {name: inside(folder, name) for name in engine.files}
    return {
        name: path
        for name, path in paths.items()
        if path is not None and path.is_file() and _SHARED_LIBRARY.fullmatch(path.name)
    }


def _libraries(folder: Path, engine: EngineFacts) -> list[Finding]:
    findings = []
    majors: dict[str, list[str]] = {}
    for name, path in present_libraries(folder, engine).items():
        try:
            info = read_elf(path)
        except ElfError as error:
            findings.append(
                _error("engine.library-unreadable", f"{name}: {error}", "it cannot be loaded")
            )
            continue
        for major in cuda_majors(info):
            majors.setdefault(major, []).append(name)
    if engine.cuda:
        majors.setdefault(engine.cuda.split(".")[0], []).append("engine.json")
    if len(majors) > 1:
        seen = "; ".join(f"CUDA {major}: {', '.join(who)}" for major, who in sorted(majors.items()))
        findings.append(
            _error(
                "engine.cuda-majors",
                seen,
                "one process loads one CUDA major; the others' libraries are not found at load",
                "lock every library of the package to one CUDA major",
            )
        )
    return findings


def cuda_majors(info: ElfInfo) -> list[str]:
    """Major versions of CUDA in the NEEDED entries of a shared library, sorted."""
    matches = [_CUDA_LIBRARY.fullmatch(name) for name in info.needed]
    return sorted({match[1].split(".")[0] for match in matches if match})
