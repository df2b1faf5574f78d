"""Join what the build reported with the rest of a package into `engine.json` and its README."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginewright import canonical_json
from enginewright.document import attempt, encode
from enginewright.engines.build_result import BuildResult
from enginewright.engines.component import missing_components
from enginewright.engines.limits import Limits
from enginewright.engines.manifest import (
    NAME,
    BuildInput,
    Generation,
    Manifest,
    OwnTable,
    Source,
    decode,
)
from enginewright.engines.product import Product
from enginewright.engines.readme import ReadmePart, render
from enginewright.errors import Problem, raise_if_any
from enginewright.hashing import FileDigest
from enginewright.schema import Count, Name
from enginewright.step import ActionRequest, Result

README = "README.md"


@dataclass(frozen=True)
class Length:
    """The longest context of the model."""

    tokens: Count
    source: str
    """The fields that say so."""


@dataclass(frozen=True)
class UsedToolchain:
    """Of products that have one."""

    product: Name
    version: Name
    cuda: Name
    minimum_driver: Name
    compute_capabilities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """Parameters of the step `describe` of every product."""

    name: Name
    task: Name
    source: Source
    files: Mapping[str, FileDigest]
    """Of the package, by path in it; those that were built may be among them."""
    inputs: tuple[BuildInput, ...]
    plugins: tuple[Mapping[str, Any], ...] = ()
    kernels: tuple[Mapping[str, Any], ...] = ()
    size_estimate: Mapping[str, Any] | None = None
    length: Length | None = None
    """None where the model says nothing of it."""
    generation: Generation | None = None
    toolchain: UsedToolchain | None = None


@dataclass(frozen=True)
class OwnPart:
    """What a product adds to the head."""

    own: OwnTable
    limits: Limits
    readme: ReadmePart


MakeOwn = Callable[[BuildResult, Description], OwnPart]
"""Raises `InputError` where build and description contradict each other."""


def describe(product: Product, make_own: MakeOwn, request: ActionRequest, outputs: Path) -> Result:
    """Write `engine.json` and `README.md`; raise `InputError` with all problems."""
    path = request.file("build").path
    build, found = attempt(BuildResult, canonical_json.read_object(path), "result of the build")
    wanted, more = attempt(Description, request.parameters, "parameters")
    raise_if_any([*found, *more])
    assert build is not None
    assert wanted is not None
    raise_if_any([*_product_problems(product, build, wanted), *_file_problems(build, wanted)])
    part = make_own(build, wanted)
    manifest = join(build, wanted, part)
    document = encode(manifest)
    # Whatever is wrong with it must not wait for a reader.
    found = decode(document, NAME, lambda _: product.own).problems
    raise_if_any([*found, *missing_components(manifest)])
    canonical_json.write(outputs / NAME, document)
    (outputs / README).write_text(render(manifest, product, part.readme), encoding="utf-8")
    return {"name": manifest.name, "built": list(manifest.built)}


def join(build: BuildResult, wanted: Description, part: OwnPart) -> Manifest:
    """The manifest; equal arguments give equal documents."""
    tokens = wanted.length.tokens if wanted.length is not None else None
    return Manifest(
        name=wanted.name,
        task=wanted.task,
        product=build.product,
        source=wanted.source,
        built=tuple(sorted(build.files)),
        files={**wanted.files, **build.files},
        tensors=build.tensors,
        inputs=wanted.inputs,
        reproducibility=build.reproducibility,
        own=encode(part.own),
        limits=part.limits.within(tokens),
        size_estimate=wanted.size_estimate,
        plugins=wanted.plugins,
        kernels=wanted.kernels,
        generation=wanted.generation,
        warnings=build.warnings,
    )


def _product_problems(product: Product, build: BuildResult, wanted: Description) -> list[Problem]:
    """The product must be the one that built, and the toolchain the one that it was built with."""
    problems = []
    if build.product.name != product.name:
        where = "result of the build, product.name"
        problems.append(Problem("another product", where, product.name, build.product.name))
    toolchain = wanted.toolchain
    if toolchain is None:
        return problems
    return problems + [
        Problem(
            "the toolchain is not the one that built",
            f"parameters, toolchain.{name}",
            actual,
            described,
        )
        for name, described, actual in (
            ("product", toolchain.product, build.product.name),
            ("version", toolchain.version, build.product.version),
        )
        if described != actual
    ]


def _file_problems(build: BuildResult, wanted: Description) -> list[Problem]:
    return [
        Problem(
            "a file is not the one that was built",
            f"parameters, files[{name!r}]",
            f"sha256 {digest.sha256}, {digest.size} bytes",
            f"sha256 {wanted.files[name].sha256}, {wanted.files[name].size} bytes",
        )
        for name, digest in sorted(build.files.items())
        if name in wanted.files and wanted.files[name] != digest
    ]
