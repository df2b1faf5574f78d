"""The table of what each CUDA toolkit compiles for, read from `toolkits.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from enginewright.errors import InputError, Problem, raise_if_any

_TABLE = Path(__file__).parent / "toolkits.toml"
_COMPUTE_CAPABILITY = re.compile(r"[0-9]+\.[0-9]")


@dataclass(frozen=True)
class ToolkitRelease:
    """One row of the table."""

    release: str
    """Major and minor version, such as `13.0`."""
    ptx_version: str
    compute_capabilities: tuple[str, ...]

    def require(self, compute_capabilities: tuple[str, ...], *, where: str) -> None:
        """Raise `InputError` naming every compute capability that this release does not know."""
        known = ", ".join(self.compute_capabilities)
        raise_if_any(
            [
                Problem(
                    f"CUDA {self.release} does not compile for this architecture",
                    where,
                    f"one of {known}",
                    repr(capability),
                    "Remove it, or choose a toolkit that knows it.",
                )
                for capability in compute_capabilities
                if capability not in self.compute_capabilities
            ]
        )


def toolkit_release(version: str) -> ToolkitRelease:
    """The row for a full version such as `13.0.88`; raise `InputError` when there is none."""
    toolkits = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["toolkits"]
    release = ".".join(version.split(".")[:2])
    if release not in toolkits:
        raise InputError(
            Problem(
                "no table of architectures for this CUDA toolkit",
                "enginewright/kernels/compile/toolkits.toml",
                f"one of {', '.join(toolkits)}",
                version,
                "Lock a toolkit of the table, or add its row.",
            )
        )
    row = toolkits[release]
    return ToolkitRelease(release, row["ptx_version"], tuple(row["compute_capabilities"]))


def compute_capability_key(capability: str) -> tuple[int, int]:
    """`"8.6"` as `(8, 6)`; raise `ValueError` for anything else."""
    if not _COMPUTE_CAPABILITY.fullmatch(capability):
        raise ValueError(f"not a compute capability: {capability!r}")
    major, minor = capability.split(".")
    return int(major), int(minor)


def architecture_number(capability: str) -> str:
    """`"8.6"` as `"86"`, as in `sm_86` and `compute_86`."""
    major, minor = compute_capability_key(capability)
    return f"{major}{minor}"
