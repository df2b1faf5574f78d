"""Turn what nvcc, the host preprocessor and ptxas print into problems with file and line."""

from __future__ import annotations

import re

from enginewright.errors import Problem

_PATTERNS = (
    # cudafe++ and cicc: path(12): error: message
    re.compile(
        r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?error.*?: (?P<what>.+)$"
    ),
    # gcc: path:12:10: fatal error: message
    re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: (?:fatal )?error: (?P<what>.+)$"),
    # the tools themselves: ptxas error : message
    re.compile(r"^(?P<tool>ptxas|nvcc|nvlink)\s+(?:error|fatal)\s*: (?P<what>.+)$"),
)
_MISSING = ": No such file or directory"
_FIX = "have a `cuda_headers` target own it, or name its folder in `include_dirs`"
_EXCERPT = 8
# One mistake in a header can cause hundreds of errors; the first ones matter.
_AT_MOST = 20


def compiler_problems(output: str, source: str) -> list[Problem]:
    """Every error in the output of a compiler that failed; at least one."""
    problems: list[Problem] = []
    for text in output.splitlines():
        for pattern in _PATTERNS:
            match = pattern.match(text)
            if not match:
                continue
            groups = match.groupdict()
            where = source
            if groups.get("file"):
                where = f"{groups['file']}, line {groups['line']}"
            what = groups["what"].strip()
            problem = Problem(what, where, fix=_FIX if what.endswith(_MISSING) else "")
            if problem not in problems:
                problems.append(problem)
            break
    if problems:
        return _first(problems, source)
    tail = "\n".join(output.strip().splitlines()[-_EXCERPT:])
    return [Problem("the CUDA compiler failed", source, actual=tail or "no output")]


def _first(problems: list[Problem], source: str) -> list[Problem]:
    more = len(problems) - _AT_MOST
    if more <= 0:
        return problems
    return [*problems[:_AT_MOST], Problem(f"and {more} more errors", source)]
