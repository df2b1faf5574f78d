"""What is measured: the engine itself, or its graph where the engine needs a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from enginewright.engines.backend import Backend
from enginewright.engines.manifest import NAME
from enginewright.engines.package import read_package
from enginewright.engines.room import load, product_of
from enginewright.errors import InputError, Problem
from enginewright.onnx_model.files import find_model
from enginewright.step import ActionRequest
from enginewright.tasks.interface import Interface, interface_of
from enginewright.validation.graph_backend import PROVIDER, GraphBackend
from enginewright.validation.measurement import Candidate
from enginewright.validation.measurement_request import MeasurementRequest

ENGINE = "the packaged engine, opened as `run` opens it"
GRAPH = (
    "the ONNX graph that the builder was given, in ONNX Runtime: it stands for the plan, which "
    "needs a GPU and was not run"
)


@dataclass(frozen=True)
class OpenedCandidate:
    candidate: Candidate
    description: Mapping[str, str]
    """`measured`, `provider` and `arithmetic`, for the report."""


def open_candidate(request: ActionRequest, wanted: MeasurementRequest) -> OpenedCandidate:
    """Raises `InputError` for a package that is damaged and for what its runtime refuses."""
    if "package" in request.inputs:
        return _open_engine(request, wanted)
    path = find_model([file.path for file in request.files("model")])
    backend = GraphBackend(path, wanted.threads)
    interface = Interface(str(path), backend.tensors, wanted.limits)
    return OpenedCandidate(
        Candidate(interface, backend, request.paths("serving")),
        {"measured": GRAPH, "provider": PROVIDER, "arithmetic": backend.arithmetic},
    )


def _open_engine(request: ActionRequest, wanted: MeasurementRequest) -> OpenedCandidate:
    if wanted.room is None:
        expected = "the room of the package's product"
        raise InputError(Problem("no product", "parameters, room", expected, "null"))
    product = product_of(wanted.room)
    files = request.paths("package")
    package = read_package(files[NAME].parent, lambda _: product.own)
    package.verify()
    backend: Backend = load(f"{wanted.room}.backend:open_backend")(package, wanted.threads)
    return OpenedCandidate(
        Candidate(interface_of(package), backend, files),
        {
            "measured": ENGINE,
            "provider": PROVIDER,
            "arithmetic": "as the engine was built",
        },
    )
