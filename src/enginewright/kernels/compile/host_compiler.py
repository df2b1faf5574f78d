"""The host compiler that nvcc preprocesses with, checked against what the toolkit supports."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright.errors import InputError, Problem

DEFAULT_PATHS = {"gcc": "/usr/bin/g++"}
# `#if __GNUC__ > 15` directly before `#error -- unsupported GNU version!`.
_GCC_LIMIT = re.compile(
    r"^#if __GNUC__ > (?P<limit>\d+)\s*$(?:\n\s*)*\n#error -- unsupported GNU", re.MULTILINE
)


@dataclass(frozen=True)
class HostCompiler:
    name: str
    """`gcc`, the one that this project compiles with."""
    version: str
    """In full, such as `12.2.0`."""
    path: str
    """Of its C++ driver; absolute."""

    @classmethod
    def decode(cls, raw: Mapping[str, Any] | None) -> HostCompiler:
        """From a step's parameters, where `path` may be absent; raise `InputError`."""
        given = raw or {}
        name = given.get("name", "")
        path = given.get("path") or DEFAULT_PATHS.get(name, "")
        return cls(name, given.get("version", ""), path)

    def __post_init__(self) -> None:
        if self.name not in DEFAULT_PATHS:
            raise InputError(
                Problem(
                    "unknown host compiler",
                    "host_compiler.name",
                    f"one of {', '.join(DEFAULT_PATHS)}",
                    repr(self.name),
                )
            )
        if not re.fullmatch(r"\d+(\.\d+)*", self.version):
            raise InputError(
                Problem(
                    "not a compiler version", "host_compiler.version", "12.2.0", repr(self.version)
                )
            )

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    def require_supported(self, toolkit_includes: Iterable[Path], release: str) -> None:
        """Raise `InputError` when the toolkit's `crt/host_config.h` refuses this compiler."""
        for folder in toolkit_includes:
            header = folder / "crt/host_config.h"
            if not header.is_file():
                continue
            text = header.read_text(encoding="utf-8")
            match = _GCC_LIMIT.search(text)
            if match and self.major > int(match["limit"]):
                line = text.count("\n", 0, match.start()) + 1
                raise InputError(
                    Problem(
                        f"CUDA {release} refuses this host compiler",
                        f"crt/host_config.h, line {line}",
                        f"{self.name} up to {match['limit']}",
                        f"{self.name} {self.version}",
                        f"Use {self.name} {match['limit']} or older, or a newer toolkit.",
                    )
                )
            return

    def require_installed(self) -> None:
        """Raise `InputError` unless the program at `path` has the recorded version."""
        try:
            actual = subprocess.run(
                [self.path, "-dumpfullversion"],
                capture_output=True,
                text=True,
                check=True,
                env={"PATH": "/usr/bin:/bin"},
            ).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            raise InputError(
                Problem(
                    "the host compiler does not run",
                    self.path,
                    f"{self.name} {self.version}",
                    str(error),
                    "Install it, or name another one in the toolchain.",
                )
            ) from error
        if actual != self.version:
            raise InputError(
                Problem(
                    "the host compiler is not the recorded one",
                    self.path,
                    f"{self.name} {self.version}",
                    f"{self.name} {actual}",
                    "Record the installed version in the toolchain, or install the recorded one.",
                )
            )
