"""The size estimate that `package` prints and `engine.json` records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from enginewright.checkpoint.config import Config, DecoderConfig
from enginewright.errors import Problem, raise_if_any
from enginewright.memory.profile_memory import ProfileShape, profile_memory
from enginewright.memory.weight_sizes import (
    DTYPE_BYTES,
    Quantization,
    kv_bytes_per_token,
    weight_sizes,
)
from enginewright.tasks.registry import Task, find_task

PLAN_OVERHEAD_BYTES = 5_000_000
"""What TensorRT for RTX 1.7.1 adds to the weights, for one compute capability: 4.4 to 6.4 MB were
seen for decoders of two layers; 38 MB, which the tolerance covers, for Qwen3-0.6B in bfloat16."""
TOLERANCE_FRACTION = 0.03
TOLERANCE_BYTES = 6_000_000


@dataclass(frozen=True)
class SizeRequest:
    dtype: str
    task: Task | None
    """None sizes a decoder without a cache."""
    logits: str
    quantization: Quantization | None
    profiles: tuple[ProfileShape, ...]

    @classmethod
    def decode(cls, parameters: Mapping[str, Any]) -> SizeRequest:
        """Raise `InputError` with every problem of the parameters."""
        problems: list[Problem] = []
        dtype = parameters.get("dtype")
        if dtype not in DTYPE_BYTES:
            problems.append(
                Problem("unknown dtype", "parameter `dtype`", ", ".join(DTYPE_BYTES), repr(dtype))
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


def estimate(config: Config, request: SizeRequest) -> dict[str, Any]:
    """Sizes in bytes; `engine_bytes` holds within `tolerance` for a plan of one capability.

    Raises `InputError` for an architecture whose tensors are not known.
    """
    weights = weight_sizes(config, request.dtype, request.quantization)
    engine = weights.bytes + PLAN_OVERHEAD_BYTES
    if any(shape.tokens == 1 for shape in request.profiles) and len(request.profiles) > 1:
        engine += weights.repacked_bytes
    with_past = request.task is not None and request.task.has_cache
    profiles = []
    for shape in request.profiles:
        memory = profile_memory(
            config,
            request.dtype,
            shape,
            with_past=with_past,
            last_logits=request.logits == "last",
        )
        if memory is not None:
            total = (
                engine + memory.kv_cache_bytes + memory.activation_bytes + memory.input_output_bytes
            )
            profiles.append({**asdict(shape), **asdict(memory), "device_bytes": total})
    return {
        "dtype": request.dtype,
        "weights": asdict(weights),
        "kv_bytes_per_token": kv_bytes_per_token(config, request.dtype)
        if isinstance(config, DecoderConfig)
        else 0,
        "engine_bytes": engine,
        "tolerance_bytes": int(TOLERANCE_FRACTION * engine) + TOLERANCE_BYTES,
        "profiles": profiles,
    }
