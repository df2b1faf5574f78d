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


def _pex_request(name: str, setup: PythonSetup) -> PexRequest:
    constraints = setup.resolves_to_interpreter_constraints[name]
    return PexRequest(
        output_filename=f"{name}.pex",
        internal_only=True,
        layout=PexLayout.LOOSE,
        requirements=PexRequirements([name], from_superset=Resolve(name, True)),
        interpreter_constraints=InterpreterConstraints(constraints),
        description=f"Install {name}",
    )


async def _entries(pex: Pex, name: str, inside: str) -> list[FileEntry]:
    glob = f"{name}.pex/.deps/{name}-*/{inside}"
    digest = await Get(Digest, DigestSubset(pex.digest, PathGlobs([glob])))
    entries = await Get(DigestEntries, Digest, digest)
    return [entry for entry in entries if isinstance(entry, FileEntry)]


@rule(desc="Install uv", level=LogLevel.DEBUG)
async def install_uv(_: UvRequest, setup: PythonSetup) -> Uv:
    pex = await Get(Pex, PexRequest, _pex_request("uv", setup))
    (entry,) = await _entries(pex, "uv", ".prefix/bin/uv")
    executable = FileEntry("uv", entry.file_digest, is_executable=True)
    return Uv(await Get(Digest, CreateDigest([executable])))


def rules() -> Iterable[Any]:
    return collect_rules()
