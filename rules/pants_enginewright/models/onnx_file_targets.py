"""BUILD vocabulary of ONNX files that exist."""

from __future__ import annotations

from typing import Iterator

from pants.core.goals.package import OutputPathField
from pants.util.frozendict import FrozenDict

from pants_enginewright.build_files.base import COMMON_FIELDS, CheckedTarget
from pants_enginewright.build_files.fields import CheckedField, ChoiceField, ListField, TextField
from pants_enginewright.build_files.owned_files import OwnedFilesField
from pants_enginewright.models.targets import (
    DistributionField,
    DistributionPathField,
    FilesField,
    ModelOriginField,
)
from pants_enginewright.models.tasks import ANY_GRAPH, TASKS


class OnnxSourceField(OwnedFilesField, TextField, ModelOriginField):
    alias = "source"
    required = True
    expected = "the name of an .onnx file"
    help = "The file with the graph."

    def is_valid(self) -> bool:
        return super().is_valid() and self.value.endswith(".onnx")


class OnnxDataField(OwnedFilesField, ListField):
    alias = "data"
    default = ()
    expected = "a list of names of files"
    help = "Files that the graph's external data lie in, at their paths beside it."


class ServedField(OwnedFilesField, ListField):
    alias = "served"
    default = ()
    expected = "a list of names of files"
    help = "Files that packages ship beside the engine, such as labels or a tokenizer."


class OnnxNamesField(CheckedField):
    alias = "names"
    default = FrozenDict()
    expected = "a dict from names of inputs and outputs to other names"
    help = "New names of inputs and outputs."

    def is_valid(self) -> bool:
        return hasattr(self.value, "items") and all(
            isinstance(item, str) and item for pair in self.value.items() for item in pair
        )


class OnnxAxesField(CheckedField):
    alias = "axes"
    default = FrozenDict()
    expected = "a dict such as {'x': ['batch', 3, 'height', 'width']}"
    help = (
        "Shapes of inputs and outputs, by their new names: a text names a dynamic axis, a number "
        "fixes it. An axis of the same name in another tensor follows. What is not named here has "
        "its name of the file, and `TENSOR:INDEX` where that has none."
    )

    def is_valid(self) -> bool:
        return hasattr(self.value, "items") and all(
            isinstance(shape, tuple) and all(map(_is_axis, shape)) for shape in self.value.values()
        )


def _is_axis(dim: object) -> bool:
    return (isinstance(dim, str) and bool(dim)) or (type(dim) is int and dim >= 0)


class OnnxTaskField(ChoiceField):
    alias = "task"
    default = ANY_GRAPH.name
    choices = tuple(TASKS)
    help = "What the graph computes, for `./pants run`: its inputs must be those of the task."


class OnnxFileTarget(CheckedTarget):
    alias = "onnx_file"
    core_fields = (
        *COMMON_FIELDS,
        OnnxSourceField,
        OnnxDataField,
        ServedField,
        OnnxNamesField,
        OnnxAxesField,
        OnnxTaskField,
        DistributionField,
        DistributionPathField,
        FilesField,
        OutputPathField,
    )
    help = (
        "An ONNX model that exists, usable wherever a model is expected. An `engine_test` that "
        "names it as `reference` compares an engine of it with the file itself."
    )

    def problems(self) -> Iterator[str]:
        if self[DistributionField].value and self[FilesField].value:
            yield "fields `distribution` and `files` are both set; expected one of them at most"
