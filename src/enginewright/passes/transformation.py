"""What every transformation of a model looks like: what it needs, what it does, what it leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from enginewright.errors import Problem, raise_if_any

Model = TypeVar("Model")
Report = TypeVar("Report")


@dataclass(frozen=True)
class Transformed(Generic[Model, Report]):
    model: Model
    report: Report
    """What was done, for the step's result."""


class Pass(ABC, Generic[Model, Report]):
    """From a model to a model: `onnx_ir.Model`, which knows who uses a value.

    `onnx.ModelProto` only where a step's environment has no onnx_ir (`bfloat16_emulation`).
    """

    def requires(self, model: Model, where: str) -> Iterator[Problem]:  # noqa: ARG002
        """Why the model cannot be transformed; `where` names its file in messages."""
        yield from ()

    @abstractmethod
    def call(self, model: Model) -> Transformed[Model, Report]:
        """The transformed model; a pass may change `model` itself, which nobody uses afterwards."""

    def ensures(self, done: Transformed[Model, Report], where: str) -> Iterator[Problem]:  # noqa: ARG002
        """Why the result is not what was asked for."""
        yield from ()


def apply(
    transformation: Pass[Model, Report], model: Model, where: str
) -> Transformed[Model, Report]:
    """Run a pass between its two conditions.

    Raises `InputError` with all problems of the first that does not hold.
    """
    raise_if_any([*transformation.requires(model, where)])
    done = transformation.call(model)
    raise_if_any([*transformation.ensures(done, where)])
    return done
