"""What goes in and out of a graph: names, and the axes that a request chooses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TensorSignature:
    name: str
    axes: tuple[str, ...]
    """Names of the leading dims, which are dynamic."""
    sizes: tuple[int, ...] = ()
    """Of the dims after them, where every model of the task has the same; else left out."""
    dtype: str = "int64"


@dataclass(frozen=True)
class Signature:
    inputs: tuple[TensorSignature, ...]
    """In the order of the exported module's arguments."""
    output: TensorSignature

    def axes(self) -> dict[str, tuple[str, ...]]:
        """Of every input and output, by name."""
        return {tensor.name: tensor.axes for tensor in (*self.inputs, self.output)}

    def axis_names(self) -> tuple[str, ...]:
        """Each axis of the inputs once, in order."""
        return tuple(dict.fromkeys(axis for tensor in self.inputs for axis in tensor.axes))
