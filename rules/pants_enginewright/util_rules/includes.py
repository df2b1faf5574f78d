"""Quoted includes of C++ and CUDA sources, followed until all headers are known."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Set, Tuple

from pants.engine.fs import DigestContents, GlobMatchErrorBehavior, PathGlobs
from pants.engine.rules import Get, collect_rules, rule

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


def rules() -> Iterable[Any]:
    return collect_rules()
