"""engine_benchmark: how fast an engine is on the GPU that it is for."""

from __future__ import annotations

from typing import Iterator

from pants_enginewright.build_files.base import COMMON_FIELDS, CheckedTarget
from pants_enginewright.build_files.fields import CheckedField, ListField, NumberField
from pants_enginewright.validation.targets import (
    BoundField,
    DeviceField,
    EngineField,
    EngineTestTimeoutField,
    ReferenceField,
)


class BenchmarkDeviceField(DeviceField):
    required = True
    help = "Name of the GPU as `nvidia-smi` says it; on another one the benchmark is refused."


class BatchesField(CheckedField):
    alias = "batches"
    default = (1,)
    expected = "a list of integers of at least 1"
    help = "Rows that are generated at once, in turn; bounds and baselines are for the first."

    def is_valid(self) -> bool:
        return (
            isinstance(self.value, tuple)
            and bool(self.value)
            and all(type(item) is int and item >= 1 for item in self.value)
        )


class PromptTokensField(NumberField):
    alias = "prompt_tokens"
    default = 16
    least = 1
    help = "Tokens of each prompt. They are drawn, the same in every run."


class NewTokensField(NumberField):
    alias = "new_tokens"
    default = 256
    least = 2
    help = "Tokens that are generated for each prompt."


class WarmupField(NumberField):
    alias = "warmup"
    default = 2
    least = 1
    help = "Generations before the first one that counts."


class RepeatsField(NumberField):
    alias = "repeats"
    default = 5
    least = 1
    help = "Generations that count; the report has their median."


class BaselinesField(ListField):
    alias = "baselines"
    default = ()
    expected = "a list of 'eager' and 'compiled'"
    help = (
        "What is timed beside it in the same run: transformers in the engine's type, `eager`, and "
        "`compiled` with a static cache. They need the field `reference`."
    )

    @staticmethod
    def accepts(item: str) -> bool:
        return item in ("eager", "compiled")


class MaxLoadSecondsField(BoundField):
    alias = "max_load_seconds"
    help = "Greatest time to open the engine, its weights included."


class MaxFirstTokenSecondsField(BoundField):
    alias = "max_first_token_seconds"
    help = "Greatest time from a prompt to its first token, at the first of `batches`."


class MinTokensPerSecondField(BoundField):
    alias = "min_tokens_per_second"
    help = "Least tokens a second of all rows, at the first of `batches`."


class MinSpeedupField(BoundField):
    alias = "min_speedup"
    help = "Least tokens a second by those of the fastest of `baselines`."


BENCHMARK_BOUNDS = (
    MaxLoadSecondsField,
    MaxFirstTokenSecondsField,
    MinTokensPerSecondField,
    MinSpeedupField,
)


class EngineBenchmarkTarget(CheckedTarget):
    alias = "engine_benchmark"
    core_fields = (
        *COMMON_FIELDS,
        EngineField,
        BenchmarkDeviceField,
        ReferenceField,
        BatchesField,
        PromptTokensField,
        NewTokensField,
        WarmupField,
        RepeatsField,
        BaselinesField,
        *BENCHMARK_BOUNDS,
        EngineTestTimeoutField,
    )
    help = (
        "Times an engine on a GPU: load, first token, tokens a second, memory. `test` runs it "
        "where that GPU is, and skips it where there is none; `device-kit` carries it to one."
    )

    def problems(self) -> Iterator[str]:
        if self[BaselinesField].value and self[ReferenceField].value is None:
            yield "field `baselines` needs the field `reference`"
        if self[MinSpeedupField].value is not None and not self[BaselinesField].value:
            yield "field `min_speedup` needs the field `baselines`"
