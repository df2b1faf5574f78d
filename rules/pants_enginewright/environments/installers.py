"""uv, which makes the locks: locked itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable

from pants.backend.python.subsystems.setup import PythonSetup
from pants.backend.python.target_types import PexLayout
from pants.backend.python.util_rules.interpreter_constraints import InterpreterConstraints
from pants.backend.python.util_rules.pex import Pex, PexRequest
from pants.backend.python.util_rules.pex_requirements import PexRequirements, Resolve
from pants.engine.fs import CreateDigest, Digest, DigestEntries, DigestSubset, FileEntry, PathGlobs
from pants.engine.rules import Get, collect_rules, rule
from pants.util.logging import LogLevel


@dataclass(frozen=True)
class UvRequest:
    """Asks for uv."""


@dataclass(frozen=True)
class Uv:
    digest: Digest
    """The executable `uv`."""


@rule(desc="Install uv", level=LogLevel.DEBUG)
async def install_uv(_: UvRequest, setup: PythonSetup) -> Uv:
    constraints = setup.resolves_to_interpreter_constraints["uv"]
    pex = await Get(
        Pex,
        PexRequest(
            output_filename="uv.pex",
            internal_only=True,
            layout=PexLayout.LOOSE,
            requirements=PexRequirements(["uv"], from_superset=Resolve("uv", True)),
            interpreter_constraints=InterpreterConstraints(constraints),
            description="Install uv",
        ),
    )
    program = PathGlobs(["uv.pex/.deps/uv-*/.prefix/bin/uv"])
    digest = await Get(Digest, DigestSubset(pex.digest, program))
    entries = await Get(DigestEntries, Digest, digest)
    (entry,) = (entry for entry in entries if isinstance(entry, FileEntry))
    executable = FileEntry("uv", entry.file_digest, is_executable=True)
    return Uv(await Get(Digest, CreateDigest([executable])))


def rules() -> Iterable[Any]:
    return collect_rules()
