"""The sources and headers of a compilation, and whether every include among them is there."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from enginewright.errors import Problem
from enginewright.kernels.compile.includes import quoted_includes


@dataclass(frozen=True)
class SourceSet:
    sources: tuple[Path, ...]
    headers: tuple[Path, ...]
    include_directories: tuple[str, ...]
    """Searched after the folder of the file that includes."""

    def problems(self) -> Iterable[Problem]:
        """Sources that share a stem, and quoted includes that no header resolves."""
        stems = Counter(source.stem for source in self.sources)
        for source in self.sources:
            if stems[source.stem] > 1:
                yield Problem(
                    "two sources have the same name, and so would their outputs",
                    str(source),
                    fix="Rename one, or compile them as separate targets.",
                )
        available = {path.as_posix() for path in (*self.sources, *self.headers)}
        for path in (*self.sources, *self.headers):
            for include in quoted_includes(path.read_text(encoding="utf-8", errors="replace")):
                candidates = [
                    posixpath.normpath(posixpath.join(folder, include.path))
                    for folder in (path.parent.as_posix(), *self.include_directories)
                ]
                if not available.intersection(candidates):
                    headers = ", ".join(sorted(header.as_posix() for header in self.headers))
                    yield Problem(
                        f'no header for #include "{include.path}"',
                        f"{path.as_posix()}, line {include.line}",
                        f"one of {', '.join(dict.fromkeys(candidates))}",
                        f"headers are {headers or 'none'}",
                        "Add the header to `headers`, or its folder to `include_dirs`.",
                    )
