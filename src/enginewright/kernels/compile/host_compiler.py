"""The host compiler that nvcc preprocesses with, checked against what the toolkit supports."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from enginewright.errors import InputError, Problem
from enginewright.schema import matches

# `#if __GNUC__ > 15` directly before `#error -- unsupported GNU version!`.
_GCC_LIMIT = re.compile(
    r"^#if __GNUC__ > (?P<limit>\d+)\s*$(?:\n\s*)*\n#error -- unsupported GNU", re.MULTILINE
)


@dataclass(frozen=True)
class HostCompiler:
    name: Literal["gcc"]
    """The one that this project compiles with."""
    version: Annotated[str, matches(r"\d+(\.\d+)*", "the version of a compiler, such as 12.2.0")]
    """In full."""
    path: str = "/usr/bin/g++"
    """Of its C++ driver; absolute."""

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    def require_supported(self, toolkit_includes: Iterable[Path], release: str) -> None:
        """Raises `InputError` when the toolkit's `crt/host_config.h` refuses this compiler."""
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
                        f"use {self.name} {match['limit']} or older, or a newer toolkit",
                    )
                )
            return

    def require_installed(self) -> None:
        """Raises `InputError` unless the program at `path` has the recorded version."""
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
                    "install it, or name another one in the toolchain",
                )
            ) from error
        if actual != self.version:
            raise InputError(
                Problem(
                    "the host compiler is not the recorded one",
                    self.path,
                    f"{self.name} {self.version}",
                    f"{self.name} {actual}",
                    "record the installed version in the toolchain, or install the recorded one",
                )
            )
