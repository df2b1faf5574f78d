"""The engine's package by itself: files there and unchanged, libraries that go together."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from enginewright.doctor.engine_facts import EngineFacts
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.elf import ElfError, ElfInfo, read_elf
from enginewright.hashing import FileDigest

_CUDA_LIBRARY = re.compile(
    r"lib(?:cudart|cublas|cublasLt|nvrtc|nvrtc-builtins|nvJitLink|npp\w+)\.so\.(\d{1,3})(?:\.\d+)*",
    re.ASCII,
)
"""CUDA libraries whose soname has the toolkit's major version (cuFFT's and others' do not)."""
_TENSORRT_LIBRARY = re.compile(
    r"lib(?:nvinfer|nvinfer_plugin|nvonnxparser|tensorrt_rtx|tensorrt_onnxparser_rtx)"
    r"\.so\.(\d{1,3})(?:\.\d+)*",
    re.ASCII,
)
PLUGIN_ENTRY_POINTS = ("getCreators", "getPluginCreators")
"""What TensorRT looks for in a plugin library: from 10.0 the first, before and still the second."""
_SHARED_LIBRARY = re.compile(r".+\.so(?:\.\d+)*", re.ASCII)


def package_findings(folder: Path, engine: EngineFacts) -> list[Finding]:
    """Findings that need no GPU and no driver."""
    findings = [
        _error("engine.manifest", str(problem), "the doctor cannot check what it cannot read")
        for problem in engine.problems
    ]
    present = []
    for file in engine.files:
        path = inside(folder, file.name)
        if path is None:
            findings.append(
                _error(
                    "engine.unsafe-path",
                    f"engine.json names `{file.name[:100]}`, which is outside the package",
                    "a package has only files under its own folder; the file was not opened",
                )
            )
        elif not path.is_file():
            findings.append(
                _error(
                    "engine.file-missing",
                    f"{file.name} is not in the package",
                    "the engine cannot be loaded or served without it",
                )
            )
        else:
            present.append(path)
            actual = FileDigest.of(path)
            if (actual.sha256, actual.size) != (file.sha256, file.size):
                findings.append(
                    _error(
                        "engine.file-changed",
                        f"{file.name} has sha256 {actual.sha256} and {actual.size} bytes, "
                        f"engine.json says {file.sha256} and {file.size}",
                        "the file is damaged, or was replaced after the build",
                    )
                )
    return [*findings, *_components(folder, engine), *_libraries(folder, present, engine)]


_FIX = "package the engine again: pants package ENGINE"


def _error(code: str, seen: str, why: str, fix: str = _FIX) -> Finding:
    return Finding(code, Link.APPLICATION, Severity.ERROR, seen, why, fix)


def inside(folder: Path, name: str) -> Path | None:
    """The file of that name under the folder, or None for a name or a link that leaves it."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        return None
    path = folder.joinpath(*parts)
    try:
        return path if path.resolve().is_relative_to(folder.resolve()) else None
    except (OSError, RuntimeError, ValueError):
        return None


def _components(folder: Path, engine: EngineFacts) -> list[Finding]:
    findings = []
    names = {file.name for file in engine.files}
    for component in engine.components:
        if component.embedded:
            continue
        if component.path not in names:
            findings.append(
                _error(
                    f"engine.{component.kind}-missing",
                    f"the plan needs {component.kind} `{component.name}`, whose file "
                    f"`{component.path or 'not named'}` is not in the package",
                    "the build had it loaded; the runtime would fail with `could not find plugin`"
                    if component.kind == "plugin"
                    else "the runtime would have no code for the operation",
                    "list the library in the engine's target, or build with it inside the plan",
                )
            )
        elif component.kind == "plugin":
            path = inside(folder, component.path)
            if path is not None and path.is_file():
                findings += plugin_findings(path)
    return findings


def plugin_findings(path: Path) -> list[Finding]:
    """Whether a plugin library has an entry point that TensorRT looks for."""
    try:
        info = read_elf(path)
    except ElfError as error:
        return [_error("engine.plugin-unreadable", f"{path.name}: {error}", "it cannot be loaded")]
    if any(name in info.exports for name in PLUGIN_ENTRY_POINTS):
        return []
    return [
        _error(
            "engine.plugin-entry-point",
            f"{path.name} exports neither of " + " and ".join(PLUGIN_ENTRY_POINTS),
            "TensorRT finds no plugin creators in it",
            "export `getCreators` (TensorRT 10 and later) with C linkage",
        )
    ]


def _libraries(folder: Path, present: list[Path], engine: EngineFacts) -> list[Finding]:
    findings = []
    majors: dict[str, list[str]] = {}
    for path in present:
        if not _SHARED_LIBRARY.fullmatch(path.name):
            continue
        name = path.relative_to(folder).as_posix()
        try:
            info = read_elf(path)
        except ElfError as error:
            findings.append(
                _error("engine.library-unreadable", f"{name}: {error}", "it cannot be loaded")
            )
            continue
        for major in cuda_majors(info):
            majors.setdefault(major, []).append(name)
        findings += tensorrt_findings(name, info, engine)
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


def tensorrt_findings(name: str, info: ElfInfo, engine: EngineFacts) -> list[Finding]:
    """Whether a library needs the TensorRT of another major version than the engine's."""
    if engine.version is None:
        return []
    findings = []
    for needed in info.needed:
        match = _TENSORRT_LIBRARY.fullmatch(needed)
        if match and int(match[1]) != engine.version.major:
            findings.append(
                _error(
                    "engine.tensorrt-major",
                    f"{name} needs {needed}; the engine's {engine.product} is {engine.version}",
                    "the library was linked against another TensorRT: it fails to load, or loads a "
                    "second TensorRT beside the first",
                    "build the library against the locked TensorRT",
                )
            )
    return findings
