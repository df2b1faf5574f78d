"""BUILD vocabulary of torch AOTInductor."""

from __future__ import annotations

from pants.engine.target import COMMON_TARGET_FIELDS, SingleSourceField, Target

from pants_enginewright.build_files.base import EnginewrightDependenciesField
from pants_enginewright.build_files.fields import AddressField, ChoiceField, NumberField
from pants_enginewright.engines.targets import ENGINE_FIELDS


class GpuSourceField(SingleSourceField):
    required = True
    expected_file_extensions = (".toml",)
    uses_source_roots = False
    help = "The description of the GPU: a TOML file with what a compiler asks a device for."


class GpuTarget(Target):
    alias = "gpu"
    core_fields = (*COMMON_TARGET_FIELDS, EnginewrightDependenciesField, GpuSourceField)
    help = (
        "A GPU as a description, for engines that are compiled for it where it is not. Numbers are "
        "those of `cudaDeviceProp`; comments in the file say where they come from."
    )


class EngineCheckpointField(AddressField):
    alias = "checkpoint"
    required = True
    expected = "the address of a `model_checkpoint` target"
    help = "The checkpoint: a decoder. Its weights are no input of the compilation."


class GpuField(AddressField):
    alias = "gpu"
    default = None
    expected = "the address of a `gpu` target"
    help = "The `gpu` to compile for; without one, the engine runs on any x86-64 processor."


class EngineDtypeField(ChoiceField):
    alias = "dtype"
    default = "bfloat16"
    choices = ("bfloat16", "float16", "float32")
    help = "Type of the weights, of the arithmetic and of the KV cache."


class MaxBatchField(NumberField):
    alias = "max_batch"
    default = 8
    least = 1
    help = "The greatest number of rows of one call."


class MaxSequenceField(NumberField):
    alias = "max_sequence"
    default = 1024
    least = 2
    help = "The greatest number of tokens of one call."


class MaxTokensField(NumberField):
    alias = "max_tokens"
    default = 1024
    least = 2
    help = "The greatest number of tokens of prompt and answer together: rows of the KV cache."


class AotInductorEngineTarget(Target):
    alias = "aotinductor_engine"
    core_fields = (
        *ENGINE_FIELDS,
        EngineCheckpointField,
        GpuField,
        EngineDtypeField,
        MaxBatchField,
        MaxSequenceField,
        MaxTokensField,
    )
    help = (
        "A decoder compiled ahead of time with torch's AOTInductor, for a GPU that need not be "
        "here, or for a processor. Bytes are the same from every folder and host. Its KV cache is "
        "written in place. `package` writes engine.pt2, the weights, engine.json and a README."
    )
