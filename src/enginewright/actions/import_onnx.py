"""Step: take over an ONNX file that exists.

Its weights are laid out as those of an exported model, inputs, outputs and axes get the names that
are asked for, and what the file says beside that stays. Inputs: `file` (one `.onnx` file and its
external data, in one folder). Parameters: see `Parameters`. Outputs: `onnx.json`,
`model/model.onnx`, `model/model.onnx.data`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import onnx
import onnx_ir as ir

from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.onnx_model.element_type import ELEMENT_TYPES
from enginewright.onnx_model.external_tensors import find_invalidity
from enginewright.onnx_model.files import find_model
from enginewright.onnx_model.loading import load_graph
from enginewright.onnx_model.ranks import state_ranks
from enginewright.onnx_model.reader import read_model
from enginewright.onnx_model.tensors import all_tensors, external_files
from enginewright.onnx_model.write_model import write_model
from enginewright.onnx_model.writing import FOLDER, GRAPH, write_graph
from enginewright.passes.interface import ChangeInterface, Dim
from enginewright.passes.own_weights import OwnWeights
from enginewright.passes.transformation import apply
from enginewright.step import ActionRequest, Result, main


@dataclass(frozen=True)
class Parameters:
    names: Mapping[str, str]
    """New names of inputs and outputs."""
    axes: Mapping[str, tuple[Dim, ...]]
    """Shapes by the new names: names of dynamic axes, and sizes."""


def run(request: ActionRequest, outputs: Path) -> Result:
    parameters = request.decode(Parameters)
    files = request.files("file")
    path = find_model([file.path for file in files])
    for file in files:
        file.verify()
    model = _load(path)
    dtype = weight_dtype(model)
    owned = apply(OwnWeights(), ir.load(path), path.name)
    change = ChangeInterface(parameters.names, parameters.axes)
    write_model(apply(change, owned.model, path.name).model, outputs)
    graph = load_graph(outputs / FOLDER / GRAPH)
    state_ranks(graph, model.graph.value_info)
    record = write_graph(graph, outputs)
    unused = ", ".join(owned.report)
    return {
        "dtype": dtype,
        "inputs": [tensor.name for tensor in record.inputs],
        "outputs": [tensor.name for tensor in record.outputs],
        "warnings": [f"left out, for no node reads it: {unused}"] if unused else [],
    }


def _load(path: Path) -> onnx.ModelProto:
    """The graph; raises `InputError` where it is no valid ONNX, or files of it are missing."""
    model = read_model(path).model
    raise_if_any(
        [
            Problem("external data of the graph are missing", f"{path.name}, `{name}`", "a file")
            for name in external_files(model)
            if not (path.parent / name).is_file()
        ]
    )
    invalid = find_invalidity(model)
    if invalid:
        raise InputError(Problem("not a valid ONNX model", path.name, actual=invalid))
    return model


def weight_dtype(model: onnx.ModelProto) -> str | None:
    """The floating-point type of most numbers that the model holds; None where it holds none."""
    names = {candidate.onnx: candidate.name for candidate in ELEMENT_TYPES}
    elements: Counter[str] = Counter()
    for held in all_tensors(model):
        if held.tensor.data_type in names:
            elements[names[held.tensor.data_type]] += prod(held.tensor.dims)
    return max(sorted(elements), key=lambda name: elements[name]) if elements else None


if __name__ == "__main__":
    main(run)
