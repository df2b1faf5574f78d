"""A folder of compiled kernels and its descriptor `kernels.json`, as a loader reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.hashing import FileDigest, verify
from enginewright.kernels.descriptor import (
    FILE_NAME,
    CompiledSource,
    Cubin,
    Parameter,
    Ptx,
    read_descriptor,
)


@dataclass(frozen=True)
class Image:
    """Code for one architecture: a cubin, or PTX that the driver compiles."""

    path: Path
    digest: FileDigest
    compute_capability: ComputeCapability
    is_ptx: bool

    def read(self) -> bytes:
        """The bytes of the image; raises `InputError` when they are not the promised ones."""
        verify(self.path, self.digest, fix="package the kernels again")
        return self.path.read_bytes()


@dataclass(frozen=True)
class PackagedKernel:
    name: str
    parameters: tuple[Parameter, ...]
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
        """Read the descriptor in `folder`; raises `InputError` for one that is missing or wrong."""
        descriptor = read_descriptor(folder / FILE_NAME)
        return cls(
            {
                kernel.name: PackagedKernel(
                    kernel.name, kernel.parameters, kernel.max_threads, source.name
                )
                for source in descriptor.sources
                for kernel in source.kernels
            },
            {source.name: _images(folder, source) for source in descriptor.sources},
        )

    @classmethod
    def read_tree(cls, folder: Path) -> KernelPackage:
        """Read every descriptor in `folder` and below it as one package.

        Raises `InputError` where there is none, and for kernels that two of them have.
        """
        found = sorted(folder.rglob(FILE_NAME)) or [folder / FILE_NAME]
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
                            fix="remove the outdated folder, or load one folder alone",
                        )
                    )
                kernels[name] = replace(kernel, source=str(place / kernel.source))
        raise_if_any(problems)
        return cls(kernels, images)

    def kernel(self, name: str) -> PackagedKernel:
        """The kernel called `name`; raises `InputError` that lists the others."""
        if name not in self.kernels:
            raise InputError(
                Problem(
                    "the package has no such kernel",
                    name,
                    f"one of {', '.join(sorted(self.kernels))}",
                )
            )
        return self.kernels[name]


def _images(folder: Path, source: CompiledSource) -> tuple[Image, ...]:
    """The cubins, then the PTX."""
    codes: list[Cubin | Ptx] = [*source.cubins]
    if source.ptx:
        codes.append(source.ptx)
    return tuple(
        Image(
            folder / code.artifact.file,
            code.artifact.digest,
            code.compute_capability,
            isinstance(code, Ptx),
        )
        for code in codes
    )
