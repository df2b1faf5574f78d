"""Quoted includes of C++ and CUDA sources, followed until all headers are known."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Set, Tuple

from pants.core.util_rules.source_files import SourceFiles, SourceFilesRequest
from pants.engine.fs import Digest, DigestContents, GlobMatchErrorBehavior, PathGlobs
from pants.engine.internals.graph import Owners, OwnersRequest
from pants.engine.rules import Get, MultiGet, collect_rules, rule
from pants.engine.target import (
    FieldSet,
    InferDependenciesRequest,
    InferredDependencies,
    SourcesPaths,
    SourcesPathsRequest,
)
from pants.engine.unions import UnionRule

from pants_enginewright.build_files.fields import thaw
from pants_enginewright.kernels.targets import CodeSourcesField, IncludeDirsField
from pants_enginewright.steps.action import ActionInput
from pants_enginewright.steps.files import Data, ListData

# Strings hide comment markers, and comments hide includes.
_TOKEN = re.compile(
    r"""
    //(?:\\\n|[^\n])* | /\*.*?(?:\*/|\Z)
    | ^[ \t]*\#[ \t]*include[ \t]*"(?P<path>[^"\n]+)"
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class HeadersRequest:
    sources: Tuple[str, ...]
    """Paths from the top of the repository."""
    include_dirs: Tuple[str, ...]


@dataclass(frozen=True)
class Headers:
    """Every header that is reached and exists; the compile step names those that do not."""

    paths: Tuple[str, ...]


def quoted_includes(text: str) -> Tuple[str, ...]:
    """Includes outside comments and strings; conditions are not evaluated."""
    return tuple(m["path"] for m in _TOKEN.finditer(text) if m["path"])


def candidates(path: str, include: str, include_dirs: Tuple[str, ...]) -> Tuple[str, ...]:
    """Where an include of the file `path` may lie, in the order of search."""
    folders = (os.path.dirname(path), *include_dirs)
    return tuple(os.path.normpath(os.path.join(folder, include)) for folder in folders)


@rule
async def find_headers(request: HeadersRequest) -> Headers:
    seen: Dict[str, str] = {}
    wanted: Set[str] = set(request.sources)
    while wanted:
        globs = PathGlobs(sorted(wanted), glob_match_error_behavior=GlobMatchErrorBehavior.ignore)
        contents = await Get(DigestContents, PathGlobs, globs)
        seen.update(dict.fromkeys(wanted, ""))
        found = {file.path: file.content.decode(errors="replace") for file in contents}
        seen.update(found)
        wanted = {
            candidate
            for path, text in found.items()
            for include in quoted_includes(text)
            for candidate in candidates(path, include, request.include_dirs)
            if not candidate.startswith("..")
        } - set(seen)
    headers = [p for p, text in seen.items() if text and p not in request.sources]
    return Headers(tuple(sorted(headers)))


FOLDER = "code"
"""Folder of the sandbox's inputs that holds sources and headers, at their paths in the tree."""


@dataclass(frozen=True)
class CodeRequest:
    sources: CodeSourcesField
    include_dirs: Tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Sources and the headers that they reach, as inputs of a compile step."""

    inputs: Tuple[ActionInput, ...]


@rule
async def collect_code(request: CodeRequest) -> Code:
    sources = await Get(SourceFiles, SourceFilesRequest([request.sources]))
    headers = await Get(Headers, HeadersRequest(sources.snapshot.files, request.include_dirs))
    digest = await Get(Digest, PathGlobs(headers.paths))
    listed_sources, listed_headers = await MultiGet(
        Get(Data, ListData(sources.snapshot.digest)), Get(Data, ListData(digest))
    )
    return Code(
        (
            ActionInput.of("sources", listed_sources.files, FOLDER),
            ActionInput.of("headers", listed_headers.files, FOLDER),
        )
    )


@dataclass(frozen=True)
class CodeDependenciesFieldSet(FieldSet):
    required_fields = (CodeSourcesField, IncludeDirsField)

    sources: CodeSourcesField
    include_dirs: IncludeDirsField


class InferCodeDependencies(InferDependenciesRequest[CodeDependenciesFieldSet]):
    infer_from = CodeDependenciesFieldSet


@rule(desc="Infer the headers that code includes")
async def infer_code_dependencies(request: InferCodeDependencies) -> InferredDependencies:
    fields = request.field_set
    paths = await Get(SourcesPaths, SourcesPathsRequest(fields.sources))
    include_dirs = tuple(thaw(fields.include_dirs.value))
    headers = await Get(Headers, HeadersRequest(paths.files, include_dirs))
    return InferredDependencies(await Get(Owners, OwnersRequest(headers.paths)))


def rules() -> Iterable[Any]:
    return (*collect_rules(), UnionRule(InferDependenciesRequest, InferCodeDependencies))
