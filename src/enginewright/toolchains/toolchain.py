"""The toolchain file: what it says, and its one text form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from enginewright.compatibility.version import CapabilityText
from enginewright.schema import NOT_EMPTY, Count, Name, Sha256, matches

Release = Annotated[str, matches(r"\d{1,4}\.\d{1,4}", "a release, such as 13.0")]
DottedVersion = Annotated[str, matches(r"\d{1,9}(\.\d{1,9}){0,7}", "numbers with dots")]
FullVersion = Annotated[
    str, matches(r"\d{1,9}(\.\d{1,9}){3}", "four numbers with dots, such as 1.7.1.116")
]


@dataclass(frozen=True)
class Device:
    """The GPU that a GPU-bound product builds on: an input of its steps."""

    name: Name
    compute_capability: CapabilityText
    driver: DottedVersion

    def lines(self) -> list[str]:
        """Its table in a TOML file."""
        return [
            "[device]",
            f"name = {quoted(self.name)}",
            f"compute_capability = {quoted(str(self.compute_capability))}",
            f"driver = {quoted(self.driver)}",
        ]


@dataclass(frozen=True)
class OnnxLimits:
    """What the product's parser reads."""

    opset_min: Count
    opset_max: Count
    ir_max: Count


@dataclass(frozen=True)
class Toolchain:
    product: Name
    version: FullVersion
    cuda: Release
    environment: Name
    """Address of the `tool_environment` that has the product."""
    minimum_driver: DottedVersion
    compute_capabilities: Annotated[tuple[CapabilityText, ...], NOT_EMPTY]
    onnx: OnnxLimits
    libraries: Mapping[str, Sha256]
    """By file name."""
    device: Device | None = None

    def text(self, sources: Sequence[str] = ()) -> str:
        """The TOML file; equal toolchains give equal bytes.

        `sources` are the rows that computed values come from; they become comments.
        """
        capabilities = ", ".join(quoted(str(item)) for item in self.compute_capabilities)
        libraries = sorted(self.libraries.items())
        lines = [
            "# Written by `enginewright lock-toolchain`; change the request and write it again.",
            *(f"# {source}" for source in sources),
            f"product = {quoted(self.product)}",
            f"version = {quoted(self.version)}",
            f"cuda = {quoted(self.cuda)}",
            f"environment = {quoted(self.environment)}",
            f"minimum_driver = {quoted(self.minimum_driver)}",
            f"compute_capabilities = [{capabilities}]",
            "",
            "[onnx]",
            f"opset_min = {self.onnx.opset_min}",
            f"opset_max = {self.onnx.opset_max}",
            f"ir_max = {self.onnx.ir_max}",
            "",
            "[libraries]",
            *(f"{quoted(name)} = {quoted(sha256)}" for name, sha256 in libraries),
        ]
        if self.device is not None:
            lines += ["", *self.device.lines()]
        return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m[0]):04x}", escaped) + '"'
