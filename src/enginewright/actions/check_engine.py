"""Step: check an engine package: its manifest, and every file that the manifest lists.

Inputs: `package` (all its files, in one folder). Parameters: `room`, the package of modules of the
product that built it; its module `product` is imported by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from enginewright.document import encode
from enginewright.engines.manifest import NAME
from enginewright.engines.package import EnginePackage, read_package
from enginewright.engines.room import product_of
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.kernels.check import kernel_problems
from enginewright.kernels.descriptor import FILE_NAME
from enginewright.schema import Name
from enginewright.step import ActionRequest, InputFile, Result, main


@dataclass(frozen=True)
class Parameters:
    room: Name


def run(request: ActionRequest, outputs: Path) -> Result:  # noqa: ARG001
    product = product_of(request.decode(Parameters).room)
    package = read_package(_folder(request.files("package")), lambda _: product.own)
    manifest = package.manifest
    if manifest.product.name != product.name:
        what = "the package is of another product"
        where = f"{NAME}, product.name"
        raise InputError(Problem(what, where, product.name, manifest.product.name))
    package.verify()
    raise_if_any([*_kernel_problems(package)])
    return {
        "name": manifest.name,
        "built": {name: encode(manifest.files[name]) for name in manifest.built},
        "files": sorted(manifest.files),
    }


def _kernel_problems(package: EnginePackage) -> Iterator[Problem]:
    functions = {one.get("path"): one.get("functions") for one in package.manifest.kernels}
    for name in package.manifest.files:
        path = package.folder / name
        if path.name == FILE_NAME:
            yield from kernel_problems(path.parent, functions.get(name))


def _folder(files: tuple[InputFile, ...]) -> Path:
    """Of the one `engine.json` that lies above all others."""
    found = [file.path.parent for file in files if file.path.name == NAME]
    if not found:
        names = ", ".join(str(file.path) for file in files)
        raise InputError(Problem("not an engine package", "inputs", NAME, names or "no files"))
    return min(found, key=lambda folder: len(folder.parts))


if __name__ == "__main__":
    main(run)
