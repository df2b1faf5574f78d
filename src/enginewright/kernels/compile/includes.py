"""Find the quoted includes of a C++ or CUDA source."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Strings and raw strings hide comment markers, and comments hide includes.
_TOKEN = re.compile(
    r"""
    (?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    | (?P<include>^[ \t]*\#[ \t]*include[ \t]*"(?P<path>[^"\n]+)")
    | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Include:
    path: str
    """As written between the quotes."""
    line: int
    """From 1."""


def quoted_includes(text: str) -> tuple[Include, ...]:
    """Every `#include "..."` outside comments and strings, in order.

    Conditional compilation is not evaluated: an include under an `#if` counts, so that a dependency
    is never missed.
    """
    return tuple(
        Include(match["path"], text.count("\n", 0, match.start("path")) + 1)
        for match in _TOKEN.finditer(text)
        if match["include"]
    )
