"""Names of a model's inputs and outputs, and of their axes, as its user wants them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import onnx_ir as ir

from enginewright.errors import Problem
from enginewright.passes.transformation import Pass, Transformed

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
"""What is a name for an axis; exporters also write formulas, `-1` and `?`, which are none."""
Dim = int | str
Shapes = Mapping[str, tuple[Dim, ...]]


@dataclass(frozen=True)
class ChangeInterface(Pass[ir.Model, None]):
    """Rename inputs and outputs, and name or fix their axes.

    A dynamic axis that has no name afterwards is called `TENSOR:INDEX`.
    """

    names: Mapping[str, str]
    """New name by the one in the file."""
    axes: Shapes
    """The whole shape of a tensor by its new name: a text names a dynamic axis, a number fixes it.
    """

    def requires(self, model: ir.Model, where: str) -> Iterator[Problem]:
        values = _values(model)
        yield from self._name_problems(model, where)
        renamed = {self.names.get(name, name): value for name, value in values.items()}
        for name in sorted({*self.axes} - {*renamed}):
            what = "field `axes` names a tensor that the graph does not have"
            yield Problem(what, where, ", ".join(sorted(renamed)), repr(name))
        for name, value in renamed.items():
            if name in self.axes:
                yield from _shape_problems(f"{where}, tensor `{name}`", value, self.axes[name])

    def _name_problems(self, model: ir.Model, where: str) -> Iterator[Problem]:
        values = _values(model)
        for name in sorted({*self.names} - {*values}):
            what = "field `names` names a tensor that is no input or output of the graph"
            yield Problem(what, where, ", ".join(values), repr(name))
        inner = {
            value.name
            for node in model.graph.all_nodes()
            for value in node.outputs
            if value.name not in values
        }
        taken = [name for name in values if name not in self.names]
        wanted = [*taken, *(self.names[name] for name in values if name in self.names)]
        for name in sorted({*self.names.values()}):
            if wanted.count(name) > 1 or name in inner or name in model.graph.initializers:
                what = "a new name is taken by another tensor of the graph"
                yield Problem(what, f"{where}, field `names`", "a name of its own", repr(name))

    def call(self, model: ir.Model) -> Transformed[ir.Model, None]:
        symbols: dict[str, Dim] = {}
        for old, value in _values(model).items():
            value.name = self.names.get(old, old)
            symbols |= _renamed(value, self.axes.get(value.name, ()))
        for value in _values(model).values():
            value.shape = _shape(value, self.axes.get(str(value.name), ()), symbols)
        return Transformed(model, None)


def _values(model: ir.Model) -> dict[str, ir.Value]:
    """Inputs and outputs by name; an input that is given back is there once."""
    return {str(value.name): value for value in (*model.graph.inputs, *model.graph.outputs)}


def _size(dim: object) -> int | None:
    """None for a dynamic axis, which some exporters write as -1."""
    return dim if isinstance(dim, int) and dim >= 0 else None


def _symbol(dim: object) -> str | None:
    name = dim.value if isinstance(dim, ir.SymbolicDim) else None
    return name if name is not None and NAME.fullmatch(name) else None


def _renamed(value: ir.Value, wanted: tuple[Dim, ...]) -> dict[str, Dim]:
    """Axes of the file that are called otherwise now: other tensors may have them too."""
    pairs = zip(value.shape or (), wanted, strict=False)
    return {old: new for dim, new in pairs if (old := _symbol(dim)) is not None}


def _shape(value: ir.Value, wanted: tuple[Dim, ...], symbols: Mapping[str, Dim]) -> ir.Shape | None:
    if value.shape is None:
        return ir.Shape(wanted) if wanted else None
    dims: list[Dim] = []
    for index, dim in enumerate(value.shape):
        old = _symbol(dim)
        if wanted:
            dims.append(wanted[index])
        elif (size := _size(dim)) is not None:
            dims.append(size)
        else:
            dims.append(symbols.get(old, old) if old is not None else f"{value.name}:{index}")
    return ir.Shape(dims)


def _shape_problems(where: str, value: ir.Value, wanted: tuple[Dim, ...]) -> Iterator[Problem]:
    if value.shape is None:
        return
    if len(value.shape) != len(wanted):
        expected = f"{len(value.shape)} axes, as the graph has them: {list(value.shape)}"
        yield Problem("field `axes` has another number of axes", where, expected, f"{len(wanted)}")
        return
    for index, (dim, new) in enumerate(zip(value.shape, wanted, strict=True)):
        size = _size(dim)
        if size is not None and size != new:
            what = "an axis of the graph has a size, which cannot be changed"
            yield Problem(what, f"{where}, axis {index}", str(size), repr(new))
        if isinstance(new, str) and not NAME.fullmatch(new):
            yield Problem("not a name for an axis", f"{where}, axis {index}", NAME.pattern, new)
