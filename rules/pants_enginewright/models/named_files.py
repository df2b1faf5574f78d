"""Files that a target names: from the tree, a locked distribution, or pinned downloads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from pants.core.target_types import FileSourceField
from pants.core.util_rules.source_files import SourceFiles, SourceFilesRequest
from pants.engine.addresses import Address, UnparsedAddressInputs
from pants.engine.fs import Digest, PathGlobs, Paths, RemovePrefix
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.target import InvalidTargetException, Targets

from pants_enginewright.environments.tool_environment import ToolEnvironment, ToolEnvironmentRequest
from pants_enginewright.models.targets import FilesField
from pants_enginewright.steps import action
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import ComposeFiles, Data, Files, ListData


@dataclass(frozen=True)
class _Extracted:
    files: Tuple[str, ...]


@dataclass(frozen=True)
class NamedFilesRequest:
    address: Address
    alias: str
    """Of the target at that address."""
    names: Tuple[str, ...]
    distribution: Optional[str]
    folder: str
    targets: Tuple[str, ...]
    beside: Tuple[str, ...] = ()
    """Patterns of files that count where they are there."""
    endings: Tuple[str, ...] = ()
    """Of the names of files that could have been meant, for the message where one is missing."""

    def missing(self, files: Files) -> List[str]:
        """All names that are not among `files`."""
        return [name for name in self.names if name not in files.by_path()]


@dataclass(frozen=True)
class FoundFiles:
    files: Files
    steps: Tuple[ActionResult, ...]


@dataclass(frozen=True)
class NamedFiles:
    """All that were named are among them."""

    files: Files
    steps: Tuple[ActionResult, ...]


@dataclass(frozen=True)
class FindFiles:
    request: NamedFilesRequest


@dataclass(frozen=True)
class FilesOfDistribution:
    request: NamedFilesRequest


@dataclass(frozen=True)
class FilesOfTargets:
    request: NamedFilesRequest


@dataclass(frozen=True)
class ExtractedFiles:
    files: Files
    step: ActionResult


@dataclass(frozen=True)
class PinnedFiles:
    files: Files


@rule
async def take_named_files(request: NamedFilesRequest) -> NamedFiles:
    """Raise for all that are not there."""
    found = await Get(FoundFiles, FindFiles(request))
    missing = request.missing(found.files)
    if missing:
        globs = [os.path.join(request.address.spec_path, f"*{end}") for end in request.endings]
        there = await Get(Paths, PathGlobs(globs))
        raise InvalidTargetException(describe_missing(request, missing, there.files))
    return NamedFiles(found.files, found.steps)


@rule
async def find_files(wrapped: FindFiles) -> FoundFiles:
    request = wrapped.request
    if request.distribution is not None:
        extracted = await Get(ExtractedFiles, FilesOfDistribution(request))
        return FoundFiles(extracted.files, (extracted.step,))
    if request.targets:
        pinned = await Get(PinnedFiles, FilesOfTargets(request))
        return FoundFiles(pinned.files, ())
    folder = request.address.spec_path
    # NB: the rule that uses the files reports all that are missing; globs would stop at the first.
    names = (*request.names, *request.beside)
    digest = await Get(Digest, PathGlobs([os.path.join(folder, name) for name in names]))
    inside = await Get(Digest, RemovePrefix(digest, folder))
    listed = await Get(Data, ListData(inside))
    return FoundFiles(listed.files, ())


@rule
async def extract_from_distribution(wrapped: FilesOfDistribution) -> ExtractedFiles:
    request = wrapped.request
    assert request.distribution is not None
    tools = await Get(
        ToolEnvironment,
        ToolEnvironmentRequest(
            request.distribution, f"field `distribution` of {request.address}", request.address
        ),
    )
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "extract_files",
            address=request.address,
            inputs=[ActionInput.of("wheels", tools.wheels)],
            parameters={
                "folder": request.folder,
                "names": list(request.names),
                "optional": list(request.beside),
            },
        ),
    )
    names = result.read(_Extracted).files
    files = await Get(Files, ComposeFiles, ComposeFiles.named(result.files.entries, *names))
    return ExtractedFiles(files, result)


@rule
async def collect_from_targets(wrapped: FilesOfTargets) -> PinnedFiles:
    request = wrapped.request
    wanted = names_by_file(request)
    targets = await Get(
        Targets,
        UnparsedAddressInputs(
            request.targets,
            owning_address=request.address,
            description_of_origin=f"field `files` of {request.address}",
        ),
    )
    sources = await Get(
        SourceFiles,
        SourceFilesRequest(
            [t[FileSourceField] for t in targets if t.has_field(FileSourceField)],
            for_sources_types=(FileSourceField,),
            # NB: Pants downloads an `http_source` as if it were generated code.
            enable_codegen=True,
        ),
    )
    listed = await Get(Data, ListData(sources.snapshot.digest))
    entries = [f.at(wanted[f.name]) for f in listed.files.entries if f.name in wanted]
    return PinnedFiles(await Get(Files, ComposeFiles(tuple(entries))))


def names_by_file(request: NamedFilesRequest) -> Dict[str, str]:
    """Path in the model by name of a downloaded file, which has no folder."""
    found: Dict[str, str] = {name: name for name in request.beside if "/" not in name}
    named: Dict[str, str] = {}
    for path in request.names:
        name = os.path.basename(path)
        if name in named:
            raise InvalidTargetException(
                f"`{request.alias}` target {request.address}: {named[name]} and "
                f"{path} have the same name, and files of the field `{FilesField.alias}` are told "
                "apart by name; put one of them into the tree"
            )
        named[name] = path
    return {**found, **named}


def describe_missing(
    request: NamedFilesRequest, missing: Sequence[str], there: Sequence[str]
) -> str:
    """`there`: files of the BUILD file's folder that the field could have meant."""
    place = request.address.spec_path
    hint = ""
    if request.targets:
        place = "the targets of its field `files`"
    else:
        names = ", ".join(sorted(map(os.path.basename, there))) or "no such file"
        hint = f". There are: {names}. (What .gitignore names, Pants does not see.)"
    return (
        f"`{request.alias}` target {request.address} names files that are not in "
        f"{place}: {', '.join(missing)}{hint}"
    )


def rules() -> Iterable[Any]:
    return (*collect_rules(), *action.rules())
