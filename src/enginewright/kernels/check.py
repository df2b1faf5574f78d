"""Check packaged kernels: the files that their descriptor names, and what these say themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from enginewright.errors import InputError, Problem
from enginewright.hashing import FileDigest
from enginewright.kernels.descriptor import (
    FILE_NAME,
    Artifact,
    Cubin,
    KernelDescriptor,
    Ptx,
    read_descriptor,
)
from enginewright.kernels.image_header import ImageError, cubin_capability, ptx_header

_FIX = "package the kernels again; do not edit their files"


def kernel_problems(folder: Path, functions: Sequence[str] | None = None) -> list[Problem]:
    """What is wrong with the kernels in `folder`, which holds a `kernels.json`.

    `functions` are the names that engine.json gives, where it is at hand.
    """
    path = folder / FILE_NAME
    try:
        descriptor = read_descriptor(path)
    except InputError as error:
        return list(error.problems)
    problems: list[Problem] = []
    for source in descriptor.sources:
        problems += _artifact_problems(folder, source.fatbin)
        codes: tuple[Cubin | Ptx, ...] = source.cubins
        if source.ptx:
            codes = (*codes, source.ptx)
        for code in codes:
            # What a file says itself counts where it is the promised one.
            problems += _artifact_problems(folder, code.artifact) or _code_problems(folder, code)
    return [*problems, *_descriptor_problems(path, descriptor, functions)]


def _descriptor_problems(
    path: Path, descriptor: KernelDescriptor, functions: Sequence[str] | None
) -> Iterator[Problem]:
    for source in descriptor.sources:
        there = tuple(code.compute_capability for code in source.cubins)
        if sorted(there) != sorted(descriptor.compute_capabilities):
            yield Problem(
                f"source `{source.name}` has not the code that the descriptor promises",
                str(path),
                ", ".join(map(str, descriptor.compute_capabilities)) or "none",
                ", ".join(map(str, there)) or "none",
                _FIX,
            )
    if functions is not None and tuple(sorted(functions)) != descriptor.functions:
        yield Problem(
            "engine.json and the descriptor of the kernels name different functions",
            str(path),
            ", ".join(sorted(functions)) or "none",
            ", ".join(descriptor.functions) or "none",
            "package the engine again: the kernels are of another build",
        )


def _artifact_problems(folder: Path, artifact: Artifact) -> list[Problem]:
    path, promised = folder / artifact.file, _text(artifact.digest)
    if not path.is_file():
        return [Problem("a file of code is missing", str(path), promised, "no file", _FIX)]
    actual = FileDigest.of(path)
    if actual == artifact.digest:
        return []
    what = "a file of code is not the one in the descriptor"
    return [Problem(what, str(path), promised, _text(actual), _FIX)]


def _code_problems(folder: Path, code: Cubin | Ptx) -> list[Problem]:
    path = folder / code.artifact.file
    try:
        if isinstance(code, Ptx):
            header = ptx_header(path)
            said = f"version {code.version}, target {code.compute_capability}"
            found = f"version {header.version}, target {header.target}"
        else:
            said, found = str(code.compute_capability.base), str(cubin_capability(path))
    except ImageError as error:
        kind = "PTX" if isinstance(code, Ptx) else "a cubin"
        return [Problem("a file of code cannot be read", str(path), kind, str(error), _FIX)]
    if said == found:
        return []
    what = "a file of code is for another architecture or version than its descriptor says"
    return [Problem(what, str(path), said, found, _FIX)]


def _text(digest: FileDigest) -> str:
    return f"sha256 {digest.sha256}, {digest.size} bytes"
