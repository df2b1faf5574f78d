"""External data: each tensor lies inside a file that is there, and no two overlap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

import onnx

from enginewright.checks.findings import Findings
from enginewright.errors import Problem
from enginewright.onnx_model.data_type import DATA_TYPES
from enginewright.onnx_model.tensors import HeldTensor, all_tensors


@dataclass(frozen=True)
class ExternalTensor:
    name: str
    dtype: int
    """`onnx.TensorProto.DataType`."""
    shape: tuple[int, ...]
    location: str
    """Relative to the folder of the graph file."""
    begin: int
    """Offset in bytes."""
    end: int
    """Offset after the last byte."""


def external_tensors(
    model: onnx.ModelProto, where: str
) -> tuple[tuple[ExternalTensor, ...], tuple[Problem, ...]]:
    """The external tensors of a model, and what is wrong with the way they are written down."""
    problems: list[Problem] = []
    tensors = []
    for held in all_tensors(model):
        if held.is_external:
            found = _read(held, where, problems)
            if found is not None:
                tensors.append(found)
    return tuple(tensors), tuple(problems)


def check_external_data(
    model: onnx.ModelProto, where: str, sizes: Mapping[str, int] | None = None
) -> Findings:
    """Check references; with `sizes` (bytes by location), against the files too."""
    tensors, found = external_tensors(model, where)
    problems = [*found, *_overlaps(tensors, where)]
    if sizes is not None:
        problems.extend(_file_problems(tensors, where, sizes))
    return Findings(tuple(problems))


def _read(held: HeldTensor, where: str, problems: list[Problem]) -> ExternalTensor | None:
    tensor = held.tensor
    here = f"{where}, {held.place}"
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    path = PurePosixPath(location)
    if not location or path.is_absolute() or ".." in path.parts or "\\" in location:
        problems.append(
            Problem(
                "external data must lie beside or below the graph file",
                f"{here}, `location`",
                "a relative path without `..`",
                f"`{location}`",
            )
        )
        return None
    data_type = DATA_TYPES.get(tensor.data_type)
    if data_type is None or any(extent < 0 for extent in tensor.dims):
        problems.append(
            Problem("the size of external data is not defined", here, "a number type and a shape")
        )
        return None
    size = data_type.bytes_of(tensor.dims)
    offset, length = entries.get("offset", "0"), entries.get("length", str(size))
    if not (_is_size(offset) and _is_size(length)):
        actual = f"offset `{offset}`, length `{length}`"
        problems.append(Problem("offset or length is no size in bytes", here, actual=actual))
        return None
    if int(length) != size:
        problems.append(
            Problem(
                "the length of external data does not match dtype and shape",
                f"{here}, `length`",
                f"{size} bytes for {data_type.onnx_name} {list(tensor.dims)}",
                f"{length} bytes",
            )
        )
    begin = int(offset)
    shape = tuple(tensor.dims)
    return ExternalTensor(held.name, tensor.data_type, shape, str(path), begin, begin + size)


def _is_size(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _overlaps(tensors: tuple[ExternalTensor, ...], where: str) -> list[Problem]:
    """Tensors that share some but not all bytes; the very same bytes are a tied weight."""
    problems = []
    previous: ExternalTensor | None = None
    for tensor in sorted(tensors, key=lambda item: (item.location, item.begin, item.end)):
        if (
            previous is not None
            and previous.location == tensor.location
            and tensor.begin < previous.end
            and (tensor.begin, tensor.end) != (previous.begin, previous.end)
        ):
            problems.append(
                Problem(
                    "external tensors overlap",
                    f"{where}, tensor `{tensor.name}`",
                    f"offset {previous.end} or more in `{tensor.location}`, "
                    f"after `{previous.name}`",
                    f"offset {tensor.begin}",
                )
            )
        if previous is None or previous.location != tensor.location or tensor.end > previous.end:
            previous = tensor
    return problems


def _file_problems(
    tensors: tuple[ExternalTensor, ...], where: str, sizes: Mapping[str, int]
) -> list[Problem]:
    missing = sorted({tensor.location for tensor in tensors} - set(sizes))
    problems = [
        Problem(
            "a file of external data is missing",
            where,
            f"`{location}`",
            ", ".join(f"`{name}`" for name in sorted(sizes)) or "no file",
            "keep the graph and its data files together",
        )
        for location in missing
    ]
    problems.extend(
        Problem(
            "external data ends before the tensor does",
            f"{where}, tensor `{tensor.name}`",
            f"at least {tensor.end} bytes in `{tensor.location}`",
            f"{sizes[tensor.location]} bytes",
            "the data file is truncated or belongs to another graph: export again",
        )
        for tensor in tensors
        if tensor.location in sizes and tensor.end > sizes[tensor.location]
    )
    return problems
