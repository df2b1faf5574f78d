"""What is measured: the engine itself, or its graph where the engine needs a device."""

from __future__ import annotations

from enginewright.onnx_model.files import find_model
from enginewright.step import ActionRequest
from enginewright.tasks.interface import Interface
from enginewright.validation.graph_backend import PROVIDER, GraphBackend
from enginewright.validation.measurement import Candidate
from enginewright.validation.measurement_request import MeasurementRequest
from enginewright.validation.opened_engine import (
    OpenedCandidate,
    open_engine,
    opened,
    read_engine,
)

GRAPH = (
    "the ONNX graph that the builder was given, in ONNX Runtime: it stands for the plan, which "
    "needs a GPU and was not run"
)


def open_candidate(request: ActionRequest, wanted: MeasurementRequest) -> OpenedCandidate:
    """Raises `InputError` for a package that is damaged and for what its runtime refuses."""
    if "package" in request.inputs:
        package = read_engine(request, wanted.room)
        assert wanted.room is not None  # for the type checker: `read_engine` raised otherwise
        return opened(request, package, open_engine(package, wanted.room, wanted.threads))
    path = find_model([file.path for file in request.files("model")])
    backend = GraphBackend(path, wanted.threads)
    interface = Interface(str(path), backend.tensors, wanted.limits)
    return OpenedCandidate(
        Candidate(interface, backend, request.paths("serving")),
        {"measured": GRAPH, "provider": PROVIDER, "arithmetic": backend.arithmetic},
    )
