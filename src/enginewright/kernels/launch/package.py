"""A folder of compiled kernels and its descriptor `kernels.json`, as a loader reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.hashing import FileDigest, verify

DESCRIPTOR = "kernels.json"
_FORMAT = 1


@dataclass(frozen=True)
class KernelParameter:
    name: str
    type: str
    """`pointer`, `int64`, `float32`, ..."""
    element: str
    """What a pointer points to, such as `float16`; empty for a value."""


@dataclass(frozen=True)
class Image:
    """Code for one architecture: a cubin, or PTX that the driver compiles."""

    path: Path
    digest: FileDigest
    compute_capability: ComputeCapability
    is_ptx: bool

    def read(self) -> bytes:
        """The bytes of the image; raise `InputError` when they are not the promised ones."""
        verify(self.path, self.digest, fix="Package the kernels again.")
        return self.path.read_bytes()


@dataclass(frozen=True)
class PackagedKernel:
    name: str
    parameters: tuple[KernelParameter, ...]
    max_threads: int | None
    """Most threads of a block; None where the source does not say."""
    source: str
    """Name of the source that it was compiled from; its kernels share images."""


@dataclass(frozen=True)
class KernelPackage:
    kernels: Mapping[str, PackagedKernel]
    images: Mapping[str, tuple[Image, ...]]
    """By source."""

    @classmethod
    def read(cls, folder: Path) -> KernelPackage:
        """Read the descriptor in `folder`; raise `InputError` for one that is missing or newer."""
        path = folder / DESCRIPTOR
        if not path.is_file():
            raise InputError(
                Problem("no descriptor of kernels", str(path), fix="Package the kernels first.")
            )
        document = canonical_json.read_object(path)
        if document.get("format") != _FORMAT:
            raise InputError(
                Problem(
                    "this descriptor of kernels has another format",
                    str(path),
                    f"format {_FORMAT}",
                    f"format {document.get('format')}",
                    "Package the kernels with the version of enginewright that loads them.",
                )
            )
        kernels, images = {}, {}
        for source in document["sources"]:
            images[source["name"]] = tuple(_images(folder, source))
            for kernel in source["kernels"]:
                kernels[kernel["name"]] = _kernel(kernel, source["name"])
        return cls(kernels, images)

    @classmethod
    def read_tree(cls, folder: Path) -> KernelPackage:
        """Read every descriptor in `folder` and below it as one package.

        Raise `InputError` where there is none, and for kernels that two of them have.
        """
        found = sorted(folder.rglob(DESCRIPTOR)) or [folder / DESCRIPTOR]
        kernels: dict[str, PackagedKernel] = {}
        images: dict[str, tuple[Image, ...]] = {}
        problems = []
        for path in found:
            package = cls.read(path.parent)
            place = path.parent.relative_to(folder)
            images |= {str(place / source): listed for source, listed in package.images.items()}
            for name, kernel in package.kernels.items():
                if name in kernels:
                    problems.append(
                        Problem(
                            "two packages have a kernel of this name",
                            f"kernel `{name}` in {path}",
                            actual=f"also from `{kernels[name].source}`",
                            fix="Remove the outdated folder, or load one folder alone.",
                        )
                    )
                kernels[name] = replace(kernel, source=str(place / kernel.source))
        raise_if_any(problems)
        return cls(kernels, images)

    def kernel(self, name: str) -> PackagedKernel:
        """The kernel called `name`; raise `InputError` that lists the others."""
        if name not in self.kernels:
            raise InputError(
                Problem(
                    "the package has no such kernel",
                    name,
                    f"one of {', '.join(sorted(self.kernels))}",
                )
            )
        return self.kernels[name]


def _images(folder: Path, source: Mapping[str, Any]) -> list[Image]:
    listed = [(cubin, False) for cubin in source["cubins"]]
    if source["ptx"]:
        listed.append((source["ptx"], True))
    return [
        Image(
            folder / entry["file"],
            FileDigest(entry["sha256"], entry["size"]),
            ComputeCapability.parse(entry["compute_capability"]),
            is_ptx,
        )
        for entry, is_ptx in listed
    ]


def _kernel(document: Mapping[str, Any], source: str) -> PackagedKernel:
    parameters = tuple(
        KernelParameter(parameter["name"], parameter["type"], parameter.get("element", ""))
        for parameter in document["parameters"]
    )
    return PackagedKernel(document["name"], parameters, document["max_threads"], source)
