"""`kernels.json`: what the compiled kernels of some sources are, written here and read here.

It holds no time, host name or absolute path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from enginewright import canonical_json
from enginewright.compatibility.version import CapabilityText
from enginewright.document import decode
from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest
from enginewright.schema import INLINE, Count, Name, Size, matches

FILE_NAME = "kernels.json"
FORMAT: Literal[1] = 1

FileName = Annotated[str, matches(r"(?!\.\.?$)[^/\x00]+", "the name of a file in this folder")]
ValueType = Annotated[str, matches(r"(?!pointer$)\w+", "a type of a value, such as int64")]


@dataclass(frozen=True)
class Pointer:
    """A parameter that is an address."""

    name: Name
    element: str
    """What it points to, such as `float16`; empty where the source does not say."""
    writable: bool
    """The kernel may write through it."""
    type: Literal["pointer"] = "pointer"


@dataclass(frozen=True)
class Value:
    """Any other parameter."""

    name: Name
    type: ValueType
    """`int64`, `float32`, ..."""


Parameter = Pointer | Value


@dataclass(frozen=True)
class Resources:
    """What a kernel takes on one architecture."""

    registers: Size
    """Per thread."""
    static_shared_memory: Size
    """Bytes per block."""
    stack: Size
    """Bytes of local memory per thread."""
    spill_stores: Size
    """Bytes that are stored to local memory for want of registers."""
    spill_loads: Size


@dataclass(frozen=True)
class Kernel:
    name: Name
    parameters: tuple[Pointer | Value, ...]
    """In order."""
    max_threads: Count | None
    """Most threads of a block; None where the source does not say."""
    resources: Mapping[str, Resources]
    """By compute capability."""


@dataclass(frozen=True)
class Artifact:
    """A file beside the descriptor."""

    file: FileName
    digest: FileDigest = field(metadata=INLINE)

    @classmethod
    def of(cls, path: Path) -> Artifact:
        return cls(path.name, FileDigest.of(path))


@dataclass(frozen=True)
class SourceFile:
    file: Name
    """Its path in the repository."""
    digest: FileDigest = field(metadata=INLINE)


@dataclass(frozen=True)
class Cubin:
    compute_capability: CapabilityText
    artifact: Artifact = field(metadata=INLINE)


@dataclass(frozen=True)
class Ptx:
    """Code that a driver compiles for devices that are newer than every cubin."""

    compute_capability: CapabilityText
    version: Name
    """Of the PTX language."""
    artifact: Artifact = field(metadata=INLINE)


@dataclass(frozen=True)
class CompiledSource:
    name: Name
    """Stem of the source; unique among the sources of a descriptor."""
    source: SourceFile
    fatbin: Artifact
    cubins: tuple[Cubin, ...]
    ptx: Ptx | None
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True)
class Tool:
    name: Name
    version: Name


@dataclass(frozen=True)
class KernelDescriptor:
    toolkit: Tool
    host_compiler: Tool
    flags: tuple[str, ...]
    compute_capabilities: tuple[CapabilityText, ...]
    ptx_version: Name
    """Of the PTX language that the toolkit writes."""
    sources: tuple[CompiledSource, ...]
    format: Literal[1] = FORMAT

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of all kernels, sorted."""
        return tuple(sorted(kernel.name for source in self.sources for kernel in source.kernels))


def read_descriptor(path: Path) -> KernelDescriptor:
    """Read a descriptor; raises `InputError` for one that is missing or wrong."""
    if not path.is_file():
        raise InputError(
            Problem("no descriptor of kernels", str(path), fix="package the kernels first")
        )
    document = canonical_json.read_object(path)
    if document.get("format") != FORMAT:
        # Another format has other fields: to name them all would help nobody.
        raise InputError(
            Problem(
                "this descriptor of kernels has another format",
                str(path),
                f"format {FORMAT}",
                f"format {document.get('format')}",
                "package the kernels with the version of enginewright that loads them",
            )
        )
    return decode(KernelDescriptor, document, str(path))
