"""`kernels.json`: what the compiled kernels of some sources are, for a loader and for a reader.

It holds no time, host name or absolute path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright.hashing import FileDigest
from enginewright.kernels.compile.ptx import Entry
from enginewright.kernels.compile.resources import Resources

FILE_NAME = "kernels.json"
FORMAT = 1


@dataclass(frozen=True)
class Artifact:
    """A file beside the descriptor."""

    file: str
    digest: FileDigest

    @classmethod
    def of(cls, path: Path) -> Artifact:
        return cls(path.name, FileDigest.of(path))

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, "sha256": self.digest.sha256, "size": self.digest.size}


@dataclass(frozen=True)
class CompiledSource:
    name: str
    """Stem of the source; unique among the sources of a descriptor."""
    source: Artifact
    """`file` is the path of the source in the repository."""
    cubins: Mapping[str, Artifact]
    """By compute capability."""
    ptx: Artifact | None
    fatbin: Artifact
    entries: tuple[Entry, ...]
    resources: Mapping[str, Mapping[str, Resources]]
    """By kernel, then compute capability."""

    def to_json(self, ptx_compute_capability: str | None, ptx_version: str) -> dict[str, Any]:
        document: dict[str, Any] = {
            "name": self.name,
            "source": self.source.to_json(),
            "fatbin": self.fatbin.to_json(),
            "cubins": [
                {"compute_capability": capability, **artifact.to_json()}
                for capability, artifact in self.cubins.items()
            ],
            "ptx": None,
            "kernels": [self._kernel(entry) for entry in self.entries],
        }
        if self.ptx:
            document["ptx"] = {
                "compute_capability": ptx_compute_capability,
                "version": ptx_version,
                **self.ptx.to_json(),
            }
        return document

    def _kernel(self, entry: Entry) -> dict[str, Any]:
        return {
            "name": entry.name,
            "parameters": [parameter.to_json() for parameter in entry.parameters],
            "max_threads": entry.max_threads,
            "resources": {
                capability: resources.to_json()
                for capability, resources in self.resources[entry.name].items()
            },
        }
