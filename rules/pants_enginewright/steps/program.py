"""Modules of the library that a user starts, outside of any step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Tuple

from pants.engine.fs import CreateDigest, Digest, MergeDigests
from pants.engine.rules import Get, MultiGet, collect_rules, rule

from pants_enginewright.environments import tools
from pants_enginewright.environments.tools import Tools, ToolsRequest
from pants_enginewright.steps import library
from pants_enginewright.steps.launch import launch_files
from pants_enginewright.steps.library import Library, LibraryRequest


@dataclass(frozen=True)
class ProgramRequest:
    module: str
    """Dotted name of the module."""
    environment: str
    """Kind of the tool environment that it runs in."""


@dataclass(frozen=True)
class Program:
    digest: Digest
    wheels: Digest
    """For `__wheels` beside that."""
    argv: Tuple[str, ...]
    """Starts it in the user's folder; arguments of the program may follow."""


@rule
async def collect_program(request: ProgramRequest) -> Program:
    chosen, library, programs = await MultiGet(
        Get(Tools, ToolsRequest(request.environment, None)),
        Get(Library, LibraryRequest(request.module)),
        Get(Digest, CreateDigest, launch_files("run.sh", "launch.sh", "run.py", "start.py")),
    )
    tools = chosen.environment
    hashes = await Get(Digest, CreateDigest([tools.hashes()]))
    return Program(
        await Get(Digest, MergeDigests([programs, hashes, library.files.digest])),
        tools.wheels.digest,
        ("/bin/sh", "{chroot}/run.sh", "{chroot}", tools.python_version, request.module),
    )


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *tools.rules(),
        *library.rules(),
    )
