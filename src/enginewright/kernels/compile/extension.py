"""Compile a Python extension module for the CPU with the host compiler and pybind11."""

from __future__ import annotations

import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pybind11

from enginewright.errors import InputError
from enginewright.kernels.compile.diagnostics import compiler_problems
from enginewright.kernels.compile.host_compiler import HostCompiler

Sanitizer = Literal["address", "undefined"]


@dataclass(frozen=True)
class ExtensionCompiler:
    host_compiler: HostCompiler
    flags: tuple[str, ...]
    """Passed to the compiler as they are."""
    include_directories: tuple[str, ...]
    """Relative to the working directory."""
    sanitizers: tuple[Sanitizer, ...]
    """A module with `address` loads only where its runtime is preloaded."""

    def compile(self, name: str, sources: tuple[Path, ...], outputs: Path) -> Path:
        """Write the module `name` into `outputs`; raises `InputError` for errors in the sources."""
        module = outputs / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        command = [
            self.host_compiler.path,
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            *self.flags,
            *self._sanitizer_flags(),
            *(f"-I{folder}" for folder in self.include_directories),
            "-isystem",
            pybind11.get_include(),
            "-isystem",
            sysconfig.get_path("include"),
            *map(str, sources),
            "-o",
            str(module),
        ]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            check=False,
        )
        if done.returncode:
            raise InputError(compiler_problems(done.stdout, ", ".join(map(str, sources))))
        return module

    def _sanitizer_flags(self) -> list[str]:
        if not self.sanitizers:
            return []
        return [
            f"-fsanitize={','.join(self.sanitizers)}",
            # A finding ends the process, so that no test can pass over it.
            "-fno-sanitize-recover=all",
            "-fno-omit-frame-pointer",
            "-g1",
            f"-ffile-prefix-map={Path.cwd()}=.",
        ]
