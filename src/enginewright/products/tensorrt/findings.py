"""What the doctor says of a package of the products that share the builder."""

from __future__ import annotations

import re
from pathlib import Path

from enginewright.doctor.engine_facts import EngineFacts
from enginewright.doctor.finding import Finding, Link, Severity
from enginewright.doctor.package import REPACKAGE, present_libraries
from enginewright.elf import ElfError, ElfInfo, read_elf
from enginewright.engines.check import inside

_LIBRARY = re.compile(
    r"lib(?:nvinfer|nvinfer_plugin|nvonnxparser|tensorrt_rtx|tensorrt_onnxparser_rtx)"
    r"\.so\.(\d{1,3})(?:\.\d+)*",
    re.ASCII,
)
PLUGIN_ENTRY_POINTS = ("getCreators", "getPluginCreators")
"""What TensorRT looks for in a plugin library: from 10.0 the first, before and still the second."""


def package_findings(folder: Path, engine: EngineFacts) -> list[Finding]:
    """Findings that need no GPU and no driver."""
    findings = []
    for component in engine.components:
        path = inside(folder, component.path) if component.kind == "plugin" else None
        if path is not None and path.is_file():
            findings += plugin_findings(path)
    for name, path in present_libraries(folder, engine).items():
        try:
            findings += library_findings(name, read_elf(path), engine)
        except ElfError:
            continue  # The doctor itself says that it cannot be read.
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


def library_findings(name: str, info: ElfInfo, engine: EngineFacts) -> list[Finding]:
    """Whether a library needs the TensorRT of another major version than the engine's."""
    if engine.version is None:
        return []
    findings = []
    for needed in info.needed:
        match = _LIBRARY.fullmatch(needed)
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


def _error(code: str, seen: str, why: str, fix: str = REPACKAGE) -> Finding:
    return Finding(code, Link.APPLICATION, Severity.ERROR, seen, why, fix)
