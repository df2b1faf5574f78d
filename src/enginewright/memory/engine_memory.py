"""The size estimate that `package` prints and `engine.json` records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

from enginewright.checkpoint.config import Config, EncoderConfig, parse_config
from enginewright.dtype import COMPUTED
from enginewright.memory.kv_cache import token_bytes
from enginewright.memory.model_shape import ModelShape, model_shape
from enginewright.memory.profile_memory import (
    ProfileMemory,
    ProfileShape,
    decoder_memory,
    encoder_memory,
)
from enginewright.memory.weight_sizes import Quantization, WeightSizes, weight_sizes
from enginewright.schema import Count, Size, one_of
from enginewright.tasks.registry import TASKS, task_names

PLAN_OVERHEAD_BYTES = 5_000_000
"""What TensorRT for RTX 1.7.1 adds to the weights, for one compute capability: 4.4 to 6.4 MB were
seen for decoders of two layers; 38 MB, which the tolerance covers, for Qwen3-0.6B in bfloat16."""
TOLERANCE_FRACTION = 0.03
TOLERANCE_BYTES = 6_000_000


Axis = Size | tuple[Size, Size, Size]
"""One size, or the minimum, optimum and maximum of a dynamic axis."""


@dataclass(frozen=True)
class QuantizationRequest:
    method: Literal["int8", "int4"]
    group_size: Count | None = None
    keep: tuple[str, ...] = ()

    def quantization(self) -> Quantization:
        return Quantization(8 if self.method == "int8" else 4, self.group_size, self.keep)


@dataclass(frozen=True)
class ProfileRequest:
    """The axes that decide memory; a profile may have others."""

    OPEN: ClassVar[bool] = True

    batch: Axis
    sequence: Axis
    past_sequence: Axis = 0

    def shape(self) -> ProfileShape:
        return ProfileShape(*map(_greatest, (self.batch, self.sequence, self.past_sequence)))


def _greatest(axis: Axis) -> int:
    return axis if isinstance(axis, int) else axis[-1]


@dataclass(frozen=True)
class EngineMemoryRequest:
    """How a model is exported and built."""

    dtype: Annotated[str, one_of(COMPUTED)]
    task: Annotated[str, one_of(task_names)] | None = None
    """None sizes a decoder without a cache."""
    logits: Literal["all", "last"] = "all"
    quantization: QuantizationRequest | None = None
    profiles: tuple[ProfileRequest, ...] = ()


@dataclass(frozen=True)
class EngineMemory:
    """Sizes in bytes, before anything is built."""

    dtype: str
    weights: WeightSizes
    kv_bytes_per_token: int
    """0 for an encoder."""
    engine_bytes: int
    tolerance_bytes: int
    """How far the plan of one compute capability may be from `engine_bytes`."""
    profiles: tuple[tuple[ProfileShape, ProfileMemory], ...]

    def to_json(self) -> dict[str, Any]:
        """As `engine.json` records it."""
        profiles = [
            {**asdict(shape), **asdict(memory), "device_bytes": self.engine_bytes + memory.bytes}
            for shape, memory in self.profiles
        ]
        return {**asdict(self), "profiles": profiles}


def engine_memory(
    document: Mapping[str, Any], where: str, request: EngineMemoryRequest
) -> EngineMemory:
    """Estimate from the object of `config.json` at `where`.

    Raises `InputError` for an architecture whose tensors are not known.
    """
    config = parse_config(document, where)
    wanted = request.quantization
    quantization = None if wanted is None else wanted.quantization()
    weights = weight_sizes(config, request.dtype, quantization)
    profiles = [profile.shape() for profile in request.profiles]
    shape = None if isinstance(config, EncoderConfig) else model_shape(document, where)
    engine = weights.bytes + PLAN_OVERHEAD_BYTES
    if any(profile.tokens == 1 for profile in profiles) and len(profiles) > 1:
        engine += weights.repacked_bytes
    return EngineMemory(
        dtype=request.dtype,
        weights=weights,
        kv_bytes_per_token=0 if shape is None else token_bytes(shape, request.dtype),
        engine_bytes=engine,
        tolerance_bytes=int(TOLERANCE_FRACTION * engine) + TOLERANCE_BYTES,
        profiles=tuple(
            (profile, _profile_memory(config, shape, request, profile)) for profile in profiles
        ),
    )


def _profile_memory(
    config: Config, shape: ModelShape | None, request: EngineMemoryRequest, profile: ProfileShape
) -> ProfileMemory:
    if isinstance(config, EncoderConfig):
        return encoder_memory(config, request.dtype, profile)
    assert shape is not None
    with_past = request.task is not None and TASKS[request.task].has_cache
    return decoder_memory(
        shape, request.dtype, profile, with_past=with_past, last_logits=request.logits == "last"
    )
