"""text_dataset, engine_test: the proof that an engine is right."""

from __future__ import annotations

from typing import Iterator, Tuple, Type

from pants.core.goals.test import TestTimeoutField
from pants.engine.target import (
    COMMON_TARGET_FIELDS,
    SingleSourceField,
    Target,
)

from pants_enginewright.build_files.base import (
    COMMON_FIELDS,
    CheckedTarget,
    EnginewrightDependenciesField,
)
from pants_enginewright.build_files.fields import (
    AddressField,
    CheckedField,
    FlagField,
    NumberField,
    TextField,
)


class DatasetSourceField(SingleSourceField):
    expected_file_extensions = (".txt",)
    uses_source_roots = False
    help = "UTF-8 text. For feature extraction: one sentence a line."


class TextDatasetTarget(Target):
    alias = "text_dataset"
    core_fields = (*COMMON_TARGET_FIELDS, EnginewrightDependenciesField, DatasetSourceField)
    help = "Text to validate with, that the model was not trained on."


class TensorDatasetSourceField(SingleSourceField):
    expected_file_extensions = (".npz",)
    uses_source_roots = False
    help = (
        "Arrays as `numpy.savez` writes them, one for each input by its name in the engine. An "
        "array of the input's rank is one call; one more axis in front counts calls."
    )


class TensorDatasetTarget(Target):
    alias = "tensor_dataset"
    core_fields = (*COMMON_TARGET_FIELDS, EnginewrightDependenciesField, TensorDatasetSourceField)
    help = "Inputs to validate with, for a graph of whatever kind."


class EngineField(AddressField):
    alias = "engine"
    required = True
    expected = "the address of an engine target"
    help = "The engine to test."


class ReferenceField(AddressField):
    alias = "reference"
    default = None
    expected = "the address of a `model_checkpoint` or `onnx_file` target"
    help = (
        "The truth to compare with: a checkpoint, which PyTorch runs in float32, or the ONNX file "
        "that the engine was made of, which runs as it is."
    )


class DatasetField(AddressField):
    alias = "dataset"
    default = None
    expected = "the address of a `text_dataset` or `tensor_dataset` target"
    help = (
        "What the comparison is made with: held-out text for a checkpoint; arrays for an "
        "`onnx_file`, which does with seeded numbers of the sizes in `shapes` too."
    )


class ShapesField(CheckedField):
    alias = "shapes"
    default = ()
    expected = "a list such as [{'batch': 1, 'height': 64, 'width': 96}]"
    help = (
        "With an `onnx_file` as reference and no dataset: sizes of all dynamic axes, a row for "
        "each call. Where it is not set: the least, best and greatest of each profile."
    )

    def is_valid(self) -> bool:
        return isinstance(self.value, tuple) and all(
            hasattr(row, "items") and all(type(n) is int and n >= 1 for n in row.values())
            for row in self.value
        )


class BoundField(NumberField):
    """A threshold; `None` leaves the number unjudged."""

    fractional = True
    default = None


class MinCosineField(BoundField):
    alias = "min_cosine_similarity"
    most = 1
    help = "Least mean cosine similarity with the reference."


class MinWorstCosineField(BoundField):
    alias = "min_worst_cosine_similarity"
    most = 1
    help = "Least cosine similarity of any single token or sentence."


class MaxAbsoluteErrorField(BoundField):
    alias = "max_absolute_error"
    help = "Greatest absolute difference of any output value."


class MaxRelativeErrorField(BoundField):
    alias = "max_relative_error"
    help = (
        "Greatest difference of any output value, by the greatest value of the reference. Where it "
        "is not set it is 0.1."
    )


class MinTop1Field(BoundField):
    alias = "min_top1_agreement"
    most = 1
    help = (
        "Least fraction of tokens for which both predict the same next one, or of sentences for "
        "which both find the same other one nearest. Where it is not set it is 0.9."
    )


class MaxPerplexityIncreaseField(BoundField):
    alias = "max_perplexity_increase"
    help = (
        "Greatest increase of perplexity over the reference, as a fraction: 0.01 is one percent. "
        "Where it is not set it is 0.1."
    )


class MaxSamplesField(NumberField):
    alias = "max_samples"
    default = None
    least = 1
    help = (
        "Measure at most so many samples of the dataset: lines, or windows of 256 tokens. Where it "
        "is not set, all are measured. The report says how many were."
    )


class MaxLengthField(NumberField):
    alias = "max_length"
    default = 4096
    least = 2
    help = (
        "Longest row in tokens that is measured, where engine and model allow it; PyTorch needs "
        "memory for its square. The report says what was not reached."
    )


class DeviceField(TextField):
    alias = "device"
    default = None
    help = (
        "Name of a GPU as `nvidia-smi` says it, such as NVIDIA H200: the engine itself is measured "
        "on it, against float64. Bounds are for that GPU alone; on another one the test fails "
        "before anything is loaded, and where there is none it is skipped, which is no pass."
    )


class MaxErrorRatioField(BoundField):
    alias = "max_error_ratio"
    help = (
        "Greatest relative error of an engine on its `device`, by that of PyTorch in the same type "
        "there; both against float64."
    )


class ReproducibleField(FlagField):
    alias = "reproducible"
    default = False
    help = "Build the plan a second time and compare the bytes."


class EngineTestTimeoutField(TestTimeoutField):
    """Seconds that the comparison may take."""


BOUNDS: Tuple[type[BoundField], ...] = (
    MinCosineField,
    MinWorstCosineField,
    MaxAbsoluteErrorField,
    MaxRelativeErrorField,
    MinTop1Field,
    MaxPerplexityIncreaseField,
)


class EngineTestTarget(CheckedTarget):
    alias = "engine_test"
    core_fields = (
        *COMMON_FIELDS,
        EngineField,
        ReferenceField,
        DatasetField,
        ShapesField,
        *BOUNDS,
        MaxSamplesField,
        MaxLengthField,
        DeviceField,
        MaxErrorRatioField,
        ReproducibleField,
        EngineTestTimeoutField,
    )
    help = (
        "Validates an engine: its package, its numbers against PyTorch on real text, and, on "
        "request, that building again gives the same bytes."
    )

    def problems(self) -> Iterator[str]:
        device = self[DeviceField].value
        if device is not None and self[ReferenceField].value is None:
            yield "field `device` needs the fields `reference` and `dataset`"
        if device is not None and self[ReproducibleField].value:
            yield "field `reproducible` goes without `device`: a build needs none"
        if device is None and self[MaxErrorRatioField].value is not None:
            yield "field `max_error_ratio` needs the field `device`"
        fields: Tuple[Type[NumberField], ...] = (*BOUNDS, MaxSamplesField, MaxLengthField)
        given = [field.alias for field in fields if self[field].value != field.default]
        given += [field.alias for field in (DatasetField, ShapesField) if self[field].value]
        if given and self[ReferenceField].value is None:
            names = ", ".join(f"`{name}`" for name in given)
            yield f"fields {names} need the field `reference`"
        if self[DatasetField].value and self[ShapesField].value:
            yield "fields `dataset` and `shapes` are both set; the arrays of a dataset have sizes"
