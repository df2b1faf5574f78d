"""The modules of the library that a step imports, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Tuple

from pants.backend.python.target_types import PythonSourceField
from pants.core.target_types import ResourceSourceField
from pants.core.util_rules.source_files import SourceFilesRequest
from pants.core.util_rules.stripped_source_files import StrippedSourceFiles
from pants.engine.fs import AddPrefix, Digest
from pants.engine.internals.graph import Owners, OwnersRequest
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import SourcesField, TransitiveTargets, TransitiveTargetsRequest
from pants.util.logging import LogLevel

from pants_enginewright.steps import files
from pants_enginewright.steps.files import Files, ListFiles
from pants_enginewright.subsystems import EnginewrightSubsystem

FOLDER = "__library"


@dataclass(frozen=True)
class LibraryRequest:
    module: str
    """Dotted name of the module that a step runs."""
    others: Tuple[str, ...] = ()
    """Modules that it imports by name."""


@dataclass(frozen=True)
class Library:
    files: Files
    """The modules, what they import and tables, under `__library/`; empty where wheels bring it."""


def module_path(root: str, module: str) -> str:
    return "/".join([root, *module.split(".")]) + ".py"


@rule(desc="Collect the library modules of a step", level=LogLevel.DEBUG)
async def collect_library(request: LibraryRequest, subsystem: EnginewrightSubsystem) -> Library:
    if not subsystem.library_root:
        return Library(Files())
    names = (request.module, *request.others)
    paths = [module_path(subsystem.library_root, name) for name in names]
    owned = await MultiGet(Get(Owners, OwnersRequest((path,))) for path in paths)
    for index, path in enumerate(paths):
        if not owned[index]:
            raise ValueError(
                f"no target owns {path}: `[enginewright].library_root` is "
                f"{subsystem.library_root!r}, and a `python_sources` target must own the library "
                f"there"
            )
    roots = [address for owners in owned for address in owners]
    transitive = await Get(TransitiveTargets, TransitiveTargetsRequest(roots))
    fields = [t[SourcesField] for t in transitive.closure if t.has_field(SourcesField)]
    sources = await Get(
        StrippedSourceFiles,
        SourceFilesRequest(fields, for_sources_types=(PythonSourceField, ResourceSourceField)),
    )
    digest = await Get(Digest, AddPrefix(sources.snapshot.digest, FOLDER))
    return Library(await Get(Files, ListFiles(digest)))


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *files.rules(),
    )
