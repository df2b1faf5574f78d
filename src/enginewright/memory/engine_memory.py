"""The size estimate that `package` prints and `engine.json` records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from enginewright.checkpoint.config import Config, EncoderConfig, parse_config
from enginewright.errors import Problem, raise_if_any
from enginewright.memory.dtype import COMPUTED_DTYPES
from enginewright.memory.kv_cache import token_bytes
from enginewright.memory.model_shape import ModelShape, model_shape
from enginewright.memory.profile_memory import (
    ProfileMemory,
    ProfileShape,
    decoder_memory,
    encoder_memory,
)
from enginewright.memory.weight_sizes import Quantization, WeightSizes, weight_sizes
from enginewright.tasks.registry import Task, find_task

PLAN_OVERHEAD_BYTES = 5_000_000
"""What TensorRT for RTX 1.7.1 adds to the weights, for one compute capability: 4.4 to 6.4 MB were
seen for decoders of two layers; 38 MB, which the tolerance covers, for Qwen3-0.6B in bfloat16."""
TOLERANCE_FRACTION = 0.03
TOLERANCE_BYTES = 6_000_000


@dataclass(frozen=True)
class EngineMemoryRequest:
    """How a model is exported and built."""

    dtype: str
    task: Task | None
    """None sizes a decoder without a cache."""
    logits: str
    quantization: Quantization | None
    profiles: tuple[ProfileShape, ...]

    @classmethod
    def decode(cls, parameters: Mapping[str, Any]) -> EngineMemoryRequest:
        """Raise `InputError` with every problem of the parameters."""
        problems: list[Problem] = []
        dtype = parameters.get("dtype")
        if dtype not in COMPUTED_DTYPES:
            problems.append(
                Problem(
                    "unknown dtype", "parameter `dtype`", ", ".join(COMPUTED_DTYPES), repr(dtype)
                )
            )
        logits = parameters.get("logits", "all")
        if logits not in ("all", "last"):
            problems.append(
                Problem("unknown value", "parameter `logits`", "all or last", repr(logits))
            )
        quantization = _quantization(parameters.get("quantization"), problems)
        profiles = _profiles(parameters.get("profiles", []), problems)
        raise_if_any(problems)
        name = parameters.get("task")
        task = None if name is None else find_task(name, "parameter `task`")
        return cls(str(dtype), task, logits, quantization, profiles)


def _quantization(value: Any, problems: list[Problem]) -> Quantization | None:
    if value is None:
        return None
    method = value.get("method") if isinstance(value, Mapping) else None
    if method not in ("int8", "int4"):
        expected = '{"method": "int8" or "int4", "group_size", "keep"}'
        problems.append(Problem("unknown quantization", "quantization", expected, repr(value)))
        return None
    return Quantization(
        8 if method == "int8" else 4, value.get("group_size"), tuple(value.get("keep", ()))
    )


def _profiles(value: Any, problems: list[Problem]) -> tuple[ProfileShape, ...]:
    shapes = []
    for number, axes in enumerate(value if isinstance(value, Sequence) else ()):
        largest = {
            axis: axes[axis][-1] if isinstance(axes[axis], Sequence) else axes[axis]
            for axis in ("batch", "sequence", "past_sequence")
            if axis in axes
        }
        missing = sorted({"batch", "sequence"} - {*largest})
        if missing:
            problems.append(
                Problem(
                    "a profile lacks an axis",
                    f"parameter `profiles[{number}]`",
                    "batch, sequence",
                    ", ".join(sorted(axes)) or "no axes",
                )
            )
        else:
            past = largest.get("past_sequence", 0)
            shapes.append(ProfileShape(largest["batch"], largest["sequence"], past))
    return tuple(shapes)


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
    weights = weight_sizes(config, request.dtype, request.quantization)
    shape = None if isinstance(config, EncoderConfig) else model_shape(document, where)
    engine = weights.bytes + PLAN_OVERHEAD_BYTES
    if any(profile.tokens == 1 for profile in request.profiles) and len(request.profiles) > 1:
        engine += weights.repacked_bytes
    return EngineMemory(
        dtype=request.dtype,
        weights=weights,
        kv_bytes_per_token=0 if shape is None else token_bytes(shape, request.dtype),
        engine_bytes=engine,
        tolerance_bytes=int(TOLERANCE_FRACTION * engine) + TOLERANCE_BYTES,
        profiles=tuple(
            (profile, _profile_memory(config, shape, request, profile))
            for profile in request.profiles
        ),
    )


def _profile_memory(
    config: Config, shape: ModelShape | None, request: EngineMemoryRequest, profile: ProfileShape
) -> ProfileMemory:
    if isinstance(config, EncoderConfig):
        return encoder_memory(config, request.dtype, profile)
    assert shape is not None
    with_past = request.task is not None and request.task.has_cache
    return decoder_memory(
        shape, request.dtype, profile, with_past=with_past, last_logits=request.logits == "last"
    )
