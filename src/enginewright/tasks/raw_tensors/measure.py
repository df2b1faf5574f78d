"""Measure an engine beside the file that it was made of: every output of the same arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from enginewright import progress
from enginewright.engines.backend import Array
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.tasks.interface import Interface
from enginewright.tasks.raw_tensors.feed import (
    Call,
    dynamic_axes,
    inputs_of,
    read_calls,
    seeded,
)
from enginewright.validation.graph_backend import GraphBackend
from enginewright.validation.measurement import Candidate, Coverage, Measured, Run
from enginewright.validation.measurement_request import MeasurementRequest

_WHOLE_NUMBERS = (
    "whole numbers that were fed are 0 or 1: a `tensor_dataset` has those of your model"
)


def measure_file(
    candidate: Candidate, reference: Path, dataset: Path | None, request: MeasurementRequest
) -> Measured:
    """`reference` is the file as it was, `request.names` the names of its tensors in the engine.

    Raises `InputError` where inputs and outputs of the two are not the same, where a size of an
    axis is not known, and where a dataset does not fit.
    """
    original = GraphBackend(reference, request.threads)
    _check_same(candidate.interface, original.tensors, request.names)
    calls, there = _calls(candidate.interface, dataset, request)
    runs: dict[tuple[object, ...], Run] = {}
    for number, call in enumerate(calls, 1):
        progress.report("Measuring", f"call {number} of {len(calls)}")
        _compare(candidate, original, call, request.names, runs)
    coverage = Coverage(
        samples=len(calls),
        samples_there=there,
        sample="calls of a dataset" if dataset is not None else "calls with seeded numbers",
        longest=None,
        greatest=None,
        largest_batch=max((len(value) for call in calls for value in call.values()
                           if value.ndim), default=1),
        not_reached=_gaps(len(calls), there),
    )  # fmt: skip
    whole = any(
        tensor.dtype.startswith(("int", "uint")) for tensor in inputs_of(candidate.interface)
    )
    notes = (_WHOLE_NUMBERS,) if whole and dataset is None else ()
    return Measured([*runs.values()], coverage, "the file itself, as it was given", notes)


def _gaps(measured: int, there: int) -> tuple[str, ...]:
    if measured == there:
        return ()
    return (f"{there - measured} of {there} calls of the dataset: `max_samples`",)


def _calls(
    engine: Interface, dataset: Path | None, request: MeasurementRequest
) -> tuple[Sequence[Call], int]:
    """The calls that are measured, and how many there are."""
    if dataset is not None:
        calls = read_calls(engine, dataset)
        return calls[: request.max_samples], len(calls)
    if request.shapes:
        return [seeded(engine, sizes) for sizes in request.shapes], len(request.shapes)
    axes = dynamic_axes(engine)
    if axes:
        raise InputError(
            Problem(
                "nothing says how large the inputs are",
                engine.where,
                "a size for each dynamic axis: " + ", ".join(axes),
                "no dataset, no shapes, and no profile of the engine",
                "name a `tensor_dataset` in the field `dataset`, or sizes in the field `shapes`",
            )
        )
    return [seeded(engine, {})], 1


def _check_same(
    engine: Interface, original: Sequence[EngineTensor], names: Mapping[str, str]
) -> None:
    problems = []
    for mode in ("input", "output"):
        own = sorted(engine.names(mode))
        other = sorted(names.get(t.name, t.name) for t in original if t.mode == mode)
        if own != other:
            what = f"engine and file have different {mode}s"
            problems.append(Problem(what, engine.where, ", ".join(other), ", ".join(own)))
    raise_if_any(problems)


def _compare(
    candidate: Candidate,
    original: GraphBackend,
    call: Call,
    names: Mapping[str, str],
    runs: dict[tuple[object, ...], Run],
) -> None:
    """Add each output to the run of its name and of the sizes that were fed."""
    tensors = {tensor.name: tensor for tensor in original.tensors}
    feed = {
        name: call[names.get(name, name)].astype(np.dtype(tensor.dtype))
        for name, tensor in tensors.items()
        if tensor.mode == "input"
    }
    outputs = [name for name, tensor in tensors.items() if tensor.mode == "output"]
    expected, _ = original.run(feed, outputs)
    actual, _ = candidate.backend.run(call, [names.get(name, name) for name in outputs])
    shapes = {name: value.shape for name, value in call.items()}
    for name in outputs:
        own = names.get(name, name)
        key = (own, *shapes.items())
        sizes = ", ".join("x".join(map(str, shape)) for shape in shapes.values())
        batch = max((shape[0] for shape in shapes.values() if shape), default=1)
        run = runs.setdefault(key, Run(f"{own} of {sizes}", batch, is_whole=True))
        given = actual[own]
        if given.shape != expected[name].shape:
            what = f"output `{own}` has another shape than the file's"
            raise InputError(
                Problem(what, f"inputs {sizes}", str(expected[name].shape), str(given.shape))
            )
        run.comparison.add(_rows(expected[name]), _rows(given))


def _rows(array: Array) -> Array:
    """[rows, numbers]: the leading axis of an output counts rows, where it has two at least."""
    numbers = array if array.dtype.kind == "f" else array.astype(np.float64)
    count = array.shape[0] if array.ndim > 1 else 1
    width = array.size // count if count else 0
    return numbers.reshape(count if width else 0, width)
