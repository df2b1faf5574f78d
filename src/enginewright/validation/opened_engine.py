"""A packaged engine, opened to be measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from enginewright.engines.backend import Backend
from enginewright.engines.manifest import NAME, Manifest
from enginewright.engines.package import EnginePackage, read_package
from enginewright.engines.room import load, product_of
from enginewright.errors import InputError, Problem
from enginewright.step import ActionRequest
from enginewright.tasks.interface import interface_of
from enginewright.validation.measurement import Candidate

ENGINE = "the packaged engine, opened as `run` opens it"


@dataclass(frozen=True)
class OpenedCandidate:
    candidate: Candidate
    description: Mapping[str, str]
    """`measured`, `provider` and `arithmetic`, for the report."""


def read_engine(request: ActionRequest, room: str | None) -> EnginePackage:
    """The package of a step's inputs, all files compared with engine.json; raises `InputError`."""
    if room is None:
        expected = "the room of the package's product"
        raise InputError(Problem("no product", "parameters, room", expected, "null"))
    product = product_of(room)
    folder = request.paths("package")[NAME].parent
    package = read_package(folder, lambda _: product.own)
    package.verify()
    return package


def open_engine(package: EnginePackage, room: str, threads: int) -> Backend:
    """Raises `InputError` for what the product's runtime refuses."""
    backend: Backend = load(f"{room}.backend:open_backend")(package, threads)
    return backend


def opened(request: ActionRequest, package: EnginePackage, backend: Backend) -> OpenedCandidate:
    return OpenedCandidate(
        Candidate(interface_of(package), backend, request.paths("package")),
        {
            "measured": ENGINE,
            "provider": provider_of(package.manifest),
            "arithmetic": "as the engine was built",
        },
    )


def provider_of(manifest: Manifest) -> str:
    return f"{manifest.product.name} {manifest.product.version}"
