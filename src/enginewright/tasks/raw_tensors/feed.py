"""Arrays for the inputs of an engine: seeded ones, or those of an `.npz` file."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from enginewright.engines.backend import Array
from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.tasks.interface import Interface

SEED = 20
Call = Mapping[str, Array]
"""The arrays of one call, by input."""


def inputs_of(engine: Interface) -> tuple[EngineTensor, ...]:
    return tuple(tensor for tensor in engine.tensors if tensor.mode == "input")


def dtype_of(tensor: EngineTensor) -> np.dtype[np.generic]:
    """Raises `InputError` for a type that numpy does not have, and so nobody can feed from here."""
    try:
        return np.dtype(tensor.dtype)
    except TypeError as error:
        what = "an array of this dtype cannot be made here"
        raise InputError(
            Problem(what, f"input `{tensor.name}`", "a dtype of numpy", tensor.dtype)
        ) from error


def dynamic_axes(engine: Interface) -> tuple[str, ...]:
    """Each axis of the inputs that a call chooses the size of, once, in order."""
    dims = [dim for tensor in inputs_of(engine) for dim in tensor.shape if isinstance(dim, str)]
    return tuple(dict.fromkeys(dims))


def seeded(engine: Interface, sizes: Mapping[str, int]) -> Call:
    """Standard normal numbers; whole numbers and truths are 0 or 1.

    Raises `InputError` for a dynamic axis that `sizes` leaves out, and for one that no input has.
    """
    axes = dynamic_axes(engine)
    where = f"shapes, {dict(sizes)}"
    raise_if_any(
        [
            *(Problem(f"axis `{axis}` has no size", where, ", ".join(axes))
              for axis in axes if axis not in sizes),
            *(Problem(f"no input has an axis `{axis}`", where, ", ".join(axes) or "no axes")
              for axis in sizes if axis not in axes),
        ]
    )  # fmt: skip
    random = np.random.default_rng(SEED)
    return {tensor.name: _random(random, tensor, sizes) for tensor in inputs_of(engine)}


def _random(random: np.random.Generator, tensor: EngineTensor, sizes: Mapping[str, int]) -> Array:
    shape = [dim if isinstance(dim, int) else sizes[dim] for dim in tensor.shape]
    dtype = dtype_of(tensor)
    if dtype.kind in "iub":
        return random.integers(0, 2, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def read_calls(engine: Interface, path: Path) -> tuple[Call, ...]:
    """Of an `.npz` file with one array for each input, by its name.

    An array of the input's rank is one call; one more axis in front counts calls, as many in each
    array. Raises `InputError` with all that does not fit the engine.
    """
    arrays = _load(path)
    inputs = inputs_of(engine)
    expected = ", ".join(tensor.name for tensor in inputs)
    problems = [
        Problem("no input of the engine has this name", f"{path.name}, `{name}`", expected)
        for name in arrays
        if all(tensor.name != name for tensor in inputs)
    ]
    for tensor in inputs:
        where = f"{path.name}, `{tensor.name}`"
        if tensor.name not in arrays:
            problems.append(Problem("no array for an input", where, "an array", "none"))
        else:
            problems += _array_problems(where, tensor, arrays[tensor.name])
    raise_if_any(problems)
    return tuple(_calls(path, inputs, arrays))


def _load(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        what = "not a file of arrays"
        expected = "an .npz file without pickled objects, as numpy.savez writes it"
        raise InputError(Problem(what, str(path), expected, str(error)[:200])) from error


def _array_problems(where: str, tensor: EngineTensor, array: Array) -> Iterator[Problem]:
    rank = len(tensor.shape)
    if array.dtype != dtype_of(tensor):
        yield Problem("an array has another dtype", where, tensor.dtype, str(array.dtype))
    if array.ndim not in (rank, rank + 1):
        expected = f"{rank} axes {list(tensor.shape)}, or one more in front that counts calls"
        yield Problem("an array has another number of axes", where, expected, str(array.shape))
        return
    for dim, size in zip(tensor.shape, array.shape[array.ndim - rank :], strict=True):
        if isinstance(dim, int) and dim != size:
            yield Problem("an array has another size", where, str(list(tensor.shape)),
                          str(list(array.shape)))  # fmt: skip


def _calls(
    path: Path, inputs: Sequence[EngineTensor], arrays: Mapping[str, Array]
) -> Iterator[Call]:
    counts = {
        tensor.name: len(array) if array.ndim > len(tensor.shape) else None
        for tensor in inputs
        for array in (arrays[tensor.name],)
    }
    if len({*counts.values()}) > 1:
        what = "the arrays hold different numbers of calls"
        raise InputError(Problem(what, path.name, "as many in each", str(counts)))
    count = next(iter(counts.values()), None)
    if count is None:
        yield {tensor.name: arrays[tensor.name] for tensor in inputs}
        return
    if count == 0:
        raise InputError(Problem("there is nothing to feed", path.name, "calls", "0"))
    for index in range(count):
        yield {tensor.name: arrays[tensor.name][index] for tensor in inputs}
