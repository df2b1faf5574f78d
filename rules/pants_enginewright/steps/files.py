"""Files by digest: what rules hand to each other. The bytes stay in the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Tuple

from pants.engine.fs import (
    EMPTY_DIGEST,
    CreateDigest,
    Digest,
    DigestEntries,
    FileDigest,
    FileEntry,
)
from pants.engine.rules import Get, collect_rules, rule


@dataclass(frozen=True)
class File:
    """A file of an artifact: its path inside the artifact, and its content by digest."""

    path: str
    sha256: str
    size: int
    is_executable: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def at(self, path: str) -> File:
        return File(path, self.sha256, self.size, self.is_executable)

    def entry(self) -> FileEntry:
        return FileEntry(self.path, FileDigest(self.sha256, self.size), self.is_executable)

    def plain(self) -> File:
        """As data, which nobody starts: a checkout may call any file executable."""
        return File(self.path, self.sha256, self.size)

    def described(self) -> Dict[str, Any]:
        return {"sha256": self.sha256, "size": self.size}


@dataclass(frozen=True)
class Files:
    digest: Digest = EMPTY_DIGEST
    entries: Tuple[File, ...] = ()

    def by_path(self) -> Dict[str, File]:
        return {entry.path: entry for entry in self.entries}


@dataclass(frozen=True)
class ListFiles:
    digest: Digest


@dataclass(frozen=True)
class ListData:
    """Asks for files of the tree as data, whatever may be executable there."""

    digest: Digest


@dataclass(frozen=True)
class Data:
    files: Files


@dataclass(frozen=True)
class ComposeFiles:
    """Files of several artifacts, each at a path of its own; costs no copy."""

    entries: Tuple[File, ...]

    @classmethod
    def under(cls, prefix: str, files: Files) -> ComposeFiles:
        """What `files` has under `prefix`, without the prefix."""
        start = len(prefix) + 1
        return cls(
            tuple(f.at(f.path[start:]) for f in files.entries if f.path.startswith(f"{prefix}/"))
        )

    @classmethod
    def named(cls, files: Iterable[File], *paths: str) -> ComposeFiles:
        return cls(tuple(file for file in files if file.path in paths))


@rule
async def list_files(request: ListFiles) -> Files:
    entries = await Get(DigestEntries, Digest, request.digest)
    files = [
        File(
            entry.path,
            entry.file_digest.fingerprint,
            entry.file_digest.serialized_bytes_length,
            entry.is_executable,
        )
        for entry in entries
        if isinstance(entry, FileEntry)
    ]
    return Files(request.digest, tuple(sorted(files, key=lambda file: file.path)))


@rule
async def list_data(request: ListData) -> Data:
    listed = await Get(Files, ListFiles(request.digest))
    if not any(file.is_executable for file in listed.entries):
        return Data(listed)
    return Data(await Get(Files, ComposeFiles(tuple(file.plain() for file in listed.entries))))


@rule
async def compose_files(request: ComposeFiles) -> Files:
    digest = await Get(Digest, CreateDigest(file.entry() for file in request.entries))
    return Files(digest, tuple(sorted(request.entries, key=lambda file: file.path)))


def rules() -> Iterable[Any]:
    return collect_rules()
