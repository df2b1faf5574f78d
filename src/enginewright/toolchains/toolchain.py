"""The toolchain file: what it says, and its one text form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright.compatibility.version import ComputeCapability, Version, try_version
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.toolchains.request import read_toml


@dataclass(frozen=True)
class Device:
    """The GPU that a GPU-bound product builds on: an input of its steps."""

    name: str
    compute_capability: ComputeCapability
    driver: str


@dataclass(frozen=True)
class Toolchain:
    product: str
    version: str
    """All four fields."""
    cuda: str
    environment: str
    minimum_driver: str
    compute_capabilities: tuple[ComputeCapability, ...]
    opset_min: int
    opset_max: int
    ir_max: int
    libraries: Mapping[str, str]
    """File name -> sha256."""
    device: Device | None = None
    sources: tuple[str, ...] = ()
    """Rows that the computed values come from; comments in the text."""

    def text(self) -> str:
        """The TOML file; equal toolchains give equal bytes."""
        lines = [
            "# Written by `enginewright lock-toolchain`; change the request and write it again.",
            *(f"# {source}" for source in self.sources),
            f"product = {quoted(self.product)}",
            f"version = {quoted(self.version)}",
            f"cuda = {quoted(self.cuda)}",
            f"environment = {quoted(self.environment)}",
            f"minimum_driver = {quoted(self.minimum_driver)}",
            "compute_capabilities = ["
            + ", ".join(quoted(str(item)) for item in self.compute_capabilities)
            + "]",
            "",
            "[onnx]",
            f"opset_min = {self.opset_min}",
            f"opset_max = {self.opset_max}",
            f"ir_max = {self.ir_max}",
            "",
            "[libraries]",
            *(
                f"{quoted(name)} = {quoted(self.libraries[name])}"
                for name in sorted(self.libraries)
            ),
        ]
        if self.device is not None:
            lines += [
                "",
                "[device]",
                f"name = {quoted(self.device.name)}",
                f"compute_capability = {quoted(str(self.device.compute_capability))}",
                f"driver = {quoted(self.device.driver)}",
            ]
        return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m[0]):04x}", escaped) + '"'


def read_toolchain(path: Path) -> Toolchain:
    """Read a toolchain file; raise `InputError` with all problems."""
    return parse_toolchain(read_toml(path), str(path))


def parse_toolchain(document: Mapping[str, Any], where: str) -> Toolchain:
    """Check a toolchain's document; `where` names it in messages."""
    problems: list[Problem] = []

    def get(table: Mapping[str, Any], name: str, kind: type, expected: str) -> Any:
        value = table.get(name)
        if type(value) is not kind:
            problems.append(
                Problem(f"field `{name}` is missing or wrong", where, expected, repr(value)[:80])
            )
            return kind()
        return value

    texts = {
        name: get(document, name, str, "a text")
        for name in ("product", "version", "cuda", "environment", "minimum_driver")
    }
    for name, fields in (("version", 4), ("cuda", 2), ("minimum_driver", 0)):
        version = try_version(texts[name])
        if version is None or (fields and len(version.fields) != fields):
            expected = f"{fields} numbers" if fields else "numbers with dots"
            problems.append(Problem(f"`{name}` is no version", where, expected, texts[name][:60]))
    targets = []
    for item in get(document, "compute_capabilities", list, "a list of texts"):
        try:
            targets.append(ComputeCapability.parse(item if isinstance(item, str) else repr(item)))
        except InputError as error:
            problems.extend(error.problems)
    onnx = get(document, "onnx", dict, "a table")
    numbers = {
        name: get(onnx, name, int, "a number") for name in ("opset_min", "opset_max", "ir_max")
    }
    libraries = get(document, "libraries", dict, "a table")
    for name, digest in libraries.items():
        if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
            problems.append(
                Problem(f"`{name[:60]}` has no sha256", where, "64 hex digits", repr(digest)[:80])
            )
    raise_if_any(problems)
    return Toolchain(
        **texts, compute_capabilities=tuple(targets), **numbers, libraries=dict(libraries),
        device=_device(document, where),
    )  # fmt: skip


def _device(document: Mapping[str, Any], where: str) -> Device | None:
    table = document.get("device")
    if table is None:
        return None
    names = ("name", "compute_capability", "driver")
    if not isinstance(table, dict) or not all(isinstance(table.get(name), str) for name in names):
        raise InputError(Problem("`device` is not complete", where, "texts: " + ", ".join(names)))
    Version.parse(table["driver"])
    capability = ComputeCapability.parse(table["compute_capability"])
    return Device(table["name"], capability, table["driver"])
