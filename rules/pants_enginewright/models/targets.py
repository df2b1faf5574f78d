"""model_checkpoint, onnx_model, quantized_model: from weights to a graph."""

from __future__ import annotations

import os
from typing import Iterator, Tuple

from pants.core.goals.package import OutputPathField
from pants.source.filespec import Filespec

from pants_enginewright.build_files.base import COMMON_FIELDS, CheckedTarget
from pants_enginewright.build_files.fields import (
    AddressField,
    AddressListField,
    CheckedField,
    ChoiceField,
    ListField,
    NumberField,
    TextField,
)
from pants_enginewright.build_files.owned_files import OwnedFilesField
from pants_enginewright.models.exporters import OPSETS
from pants_enginewright.models.tasks import TASKS

PLUGINS = ("add_rms_norm", "rms_norm", "rotary", "swiglu")


BESIDE = (
    "config_sentence_transformers.json",
    "generation_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "*_Dense/config.json",
    "*_Dense/model.safetensors",
    "*_Pooling/config.json",
)
"""Files beside the config that say how a model is used: they are read where they are there."""


class ConfigField(OwnedFilesField, TextField):
    alias = "config"
    default = "config.json"
    expected = "the name of a JSON file"
    help = (
        "The model's configuration. Files beside it that say how the model is used are read too, "
        "listed or not: " + ", ".join(BESIDE) + "."
    )

    @property
    def beside(self) -> Tuple[str, ...]:
        """Patterns of those files, relative to where the target's files come from."""
        folder = os.path.dirname(self.names[0]) if self.names else ""
        return tuple(os.path.join(folder, pattern) for pattern in BESIDE)

    @property
    def filespec(self) -> Filespec:
        named = super().filespec["includes"]
        folder = self.address.spec_path
        return {"includes": [*named, *(os.path.join(folder, path) for path in self.beside)]}


class WeightsField(OwnedFilesField, ListField):
    alias = "weights"
    default = ("model.safetensors",)
    expected = "a list of names of .safetensors files (and, for shards, their .index.json)"
    help = "The weights: safetensors files, and their index where there are several shards."


class TokenizerField(OwnedFilesField, ListField):
    alias = "tokenizer"
    default = ()
    expected = "a list of names of files"
    help = (
        "Files of the tokenizer, and others that a package ships, each at its path in the "
        "checkpoint."
    )


class DistributionField(AddressField):
    alias = "distribution"
    default = None
    help = (
        "Take the files out of the locked Python distribution in this `tool_environment`, instead "
        "of from the BUILD file's folder. File names are then relative to `distribution_path`."
    )


class DistributionPathField(TextField):
    alias = "distribution_path"
    default = None
    expected = "a folder inside the distribution, relative to its top"
    help = "Folder inside the distribution that holds the files."


class FilesField(AddressListField):
    alias = "files"
    default = ()
    help = (
        "Targets such as `file(source=http_source(url, len=..., sha256=...))` that files of this "
        "checkpoint come from, by name."
    )


class ModelCheckpointTarget(CheckedTarget):
    alias = "model_checkpoint"
    core_fields = (
        *COMMON_FIELDS,
        ConfigField,
        WeightsField,
        TokenizerField,
        DistributionField,
        DistributionPathField,
        FilesField,
    )
    help = "A model's configuration, weights and tokenizer, verified against each other."

    def problems(self) -> Iterator[str]:
        if self[DistributionField].value and self[FilesField].value:
            yield "fields `distribution` and `files` are both set; expected one of them at most"


class ModelOriginField(CheckedField):
    """What a model is made of: a target that has it makes one."""


class CheckpointField(AddressField, ModelOriginField):
    alias = "checkpoint"
    required = True
    expected = "the address of a `model_checkpoint` target"
    help = "The `model_checkpoint` to export."


class TaskField(ChoiceField):
    alias = "task"
    required = True
    choices = tuple(task.name for task in TASKS.values() if task.is_exported)
    help = "What the graph computes. " + " ".join(
        f"`{task.name}`: {task.describes}." for task in TASKS.values() if task.is_exported
    )


class DtypeField(ChoiceField):
    alias = "dtype"
    default = "float16"
    choices = ("float32", "float16", "bfloat16")
    help = "Type of the weights and of the arithmetic."


def _range(opsets: Tuple[int, ...]) -> str:
    """All in between are written too."""
    return " to ".join(str(opset) for opset in dict.fromkeys((min(opsets), max(opsets))))


class OpsetField(NumberField):
    alias = "opset"
    default = 23
    least = min(map(min, OPSETS.values()))
    most = max(map(max, OPSETS.values()))
    help = "Version of the ONNX operator set. " + " ".join(
        f"`{exporter}` writes {_range(opsets)}." for exporter, opsets in OPSETS.items()
    )


class ExporterField(ChoiceField):
    alias = "exporter"
    default = "torch"
    choices = ("torch", "direct")
    help = (
        "`torch` traces the model; `direct` writes the graph of a known architecture from its "
        "configuration, in a second whatever the size."
    )


class LogitsField(ChoiceField):
    alias = "logits"
    default = "all"
    choices = ("all", "last")
    help = "Logits of all positions, or only of the last one."


class PluginsField(ListField):
    alias = "plugins"
    default = ()
    expected = "a list of " + ", ".join(map(repr, PLUGINS))
    help = (
        "Operators of our own that replace matching subgraphs, found by structure. An engine "
        "with a library of `operators` runs its kernels; any other takes their meaning, which "
        "comes with them. engine.json says which."
    )

    @staticmethod
    def accepts(item: str) -> bool:
        return item in PLUGINS


class OnnxModelTarget(CheckedTarget):
    alias = "onnx_model"
    core_fields = (
        *COMMON_FIELDS,
        CheckpointField,
        TaskField,
        DtypeField,
        OpsetField,
        ExporterField,
        LogitsField,
        PluginsField,
        OutputPathField,
    )
    help = "A checkpoint exported to ONNX, with its graph checked."

    def problems(self) -> Iterator[str]:
        name, exporter = self[TaskField].value, self[ExporterField].value
        task, opset, opsets = TASKS.get(name), self[OpsetField], OPSETS.get(exporter, ())
        if opsets and opset.is_valid() and opset.value not in opsets:
            yield (
                f"field `opset` has value {opset.value}; exporter {exporter!r} writes "
                f"{_range(opsets)}"
            )
        if exporter == "direct":
            if task is not None and not task.is_decoder:
                yield (
                    f"field `task` has value {name!r}; exporter 'direct' has only decoders: "
                    f"use 'torch'"
                )
            return
        if task is not None and task.has_cache:
            yield f"field `task` has value {name!r}; expected exporter 'direct' for a KV cache"
        if self[LogitsField].value == "last":
            yield "field `logits` has value 'last'; expected exporter 'direct' for it"


class QuantizedModelSourceField(AddressField, ModelOriginField):
    alias = "model"
    required = True
    expected = "the address of an `onnx_model` or `onnx_file` target"
    help = "The `onnx_model` or `onnx_file` whose weights become integers."


class MethodField(ChoiceField):
    alias = "method"
    required = True
    choices = ("int8", "int4")
    help = (
        "`int8`: one scale for each output channel. `int4`: one scale for each group of inputs of "
        "an output channel. Activations stay as they are; no calibration data is needed."
    )


class GroupSizeField(ChoiceField):
    alias = "group_size"
    default = None
    choices = (32, 64, 128)
    help = "Method `int4`, where it is required: how many inputs of a channel share a scale."


class KeepField(ListField):
    alias = "keep"
    default = ("*embed_tokens*", "*lm_head*")
    expected = "a list of patterns of names, with `*` and `?`"
    help = "Weights that stay as they are; the output head always does."


class QuantizedModelTarget(CheckedTarget):
    alias = "quantized_model"
    core_fields = (
        *COMMON_FIELDS,
        QuantizedModelSourceField,
        MethodField,
        GroupSizeField,
        KeepField,
        OutputPathField,
    )
    help = (
        "An `onnx_model` with integer weights, usable wherever a model is expected. `package` "
        "writes the graph, its data and report.json: bytes before and after, and the error of each "
        "tensor. What it costs in perplexity, an `engine_test` of an engine of it measures."
    )

    def problems(self) -> Iterator[str]:
        method, group_size = self[MethodField].value, self[GroupSizeField].value
        if method == "int4" and group_size is None:
            yield (
                f"field `group_size` is required for method 'int4'; expected "
                f"{GroupSizeField.choices}"
            )
        if method == "int8" and group_size is not None:
            yield "field `group_size` is for method 'int4'; 'int8' has one scale for each channel"
