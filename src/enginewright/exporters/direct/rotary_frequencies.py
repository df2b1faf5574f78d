"""Angular frequencies of rotary position embeddings, scaled as a config declares it.

Sources: RoPE, https://arxiv.org/abs/2104.09864 (frequency i of a head of size d is theta^(-2i/d));
linear interpolation, https://arxiv.org/abs/2306.15595; YaRN, https://arxiv.org/abs/2309.00071,
sections 3.2 to 3.4; the Llama 3.1 rule as in https://github.com/meta-llama/llama-models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enginewright import exact_math
from enginewright.checkpoint.config import DecoderConfig
from enginewright.errors import InputError, Problem, raise_if_any

Frequencies = NDArray[np.float64]
"""Radians a position, shape [head_dim / 2]."""


@dataclass(frozen=True)
class RotaryEmbedding:
    inverse_frequencies: NDArray[np.float32]
    """Shape [head_dim / 2]; the angle of position p is p times this."""
    attention_scaling: float
    """Factor of cosine and sine; 1 except for YaRN."""


def rotary_of(config: DecoderConfig, head_dim: int) -> RotaryEmbedding:
    """As `config` declares it, for heads of which `head_dim` elements are rotated."""
    rope = config.rope
    parameters = {**rope.parameters, "rope_type": rope.rope_type, "rope_theta": rope.theta}
    return rotary_embedding(head_dim, parameters, config.max_position_embeddings)


def rotary_embedding(
    head_dim: int, parameters: Mapping[str, object], max_positions: int
) -> RotaryEmbedding:
    """Read `rope_parameters` of a config (`rope_theta`, `rope_type` and what the type needs).

    Raises `InputError` for a type that this exporter does not know, and for missing numbers.
    """
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    if kind not in _SCALINGS:
        raise InputError(
            Problem(
                "this rope scaling cannot be exported",
                "config.json, `rope_type` of `rope_parameters` or `rope_scaling`",
                ", ".join(_SCALINGS),
                str(kind),
                "no exporter has it; take a checkpoint with one of these scalings",
            )
        )
    needed = {"rope_theta", *_SCALINGS[str(kind)].needs}
    numbers = _numbers(parameters, needed)
    numbers.setdefault("original_max_position_embeddings", float(max_positions))
    _check_order(str(kind), numbers)
    theta = numbers["rope_theta"]
    plain = np.array([exact_math.power(theta, -i, head_dim) for i in range(0, head_dim, 2)])
    scaled, factor = _SCALINGS[str(kind)].apply(plain, numbers, parameters)
    return RotaryEmbedding(scaled.astype(np.float32), factor)


def _check_order(kind: str, numbers: Mapping[str, float]) -> None:
    """Raise `InputError` for numbers that give no frequencies."""
    problem = None
    if kind == "llama3" and numbers["high_freq_factor"] <= numbers["low_freq_factor"]:
        low, high = f"{numbers['low_freq_factor']:g}", f"{numbers['high_freq_factor']:g}"
        problem = Problem(
            "rope scaling has no range between its frequencies",
            "config.json, `high_freq_factor` of `rope_parameters` or `rope_scaling`",
            f"more than `low_freq_factor`, {low}",
            high,
        )
    if kind == "yarn" and numbers["rope_theta"] <= 1:
        where = "config.json, `rope_theta`"
        problem = Problem("a base of 1 has no wavelengths", where, "more than 1")
    if problem is not None:
        raise InputError(problem)


def _numbers(parameters: Mapping[str, object], needed: set[str]) -> dict[str, float]:
    problems = [
        Problem(
            "rope scaling lacks a number",
            f"config.json, `{name}` of `rope_parameters` or `rope_scaling`",
            "a positive number",
            repr(parameters[name]) if name in parameters else "no such field",
        )
        for name in sorted(needed)
        if not _is_positive(parameters.get(name))
    ]
    raise_if_any(problems)
    return {
        name: float(value)
        for name, value in parameters.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _default(
    plain: Frequencies, _numbers: Mapping[str, float], _parameters: Mapping[str, object]
) -> tuple[Frequencies, float]:
    return plain, 1.0


def _linear(
    plain: Frequencies, numbers: Mapping[str, float], _parameters: Mapping[str, object]
) -> tuple[Frequencies, float]:
    return plain / numbers["factor"], 1.0


def _llama3(
    plain: Frequencies, numbers: Mapping[str, float], _parameters: Mapping[str, object]
) -> tuple[Frequencies, float]:
    """Keep fast frequencies, divide slow ones by `factor`, and blend between the two."""
    turns = numbers["original_max_position_embeddings"] * plain / (2 * math.pi)
    low, high = numbers["low_freq_factor"], numbers["high_freq_factor"]
    keep = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return plain * (keep + (1 - keep) / numbers["factor"]), 1.0


def _yarn(
    plain: Frequencies, numbers: Mapping[str, float], parameters: Mapping[str, object]
) -> tuple[Frequencies, float]:
    """Interpolate the dimensions that turn less than `beta_slow` times over the old context."""
    factor, dimension = numbers["factor"], 2 * len(plain)
    theta, context = numbers["rope_theta"], numbers["original_max_position_embeddings"]

    def dimension_that_turns(times: float) -> float:
        turns = context / (times * 2 * math.pi)
        return dimension * exact_math.log(turns) / (2 * exact_math.log(theta))

    first = dimension_that_turns(numbers.get("beta_fast") or 32.0)
    last = dimension_that_turns(numbers.get("beta_slow") or 1.0)
    if parameters.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, dimension - 1)
    width = (last - first) or 0.001
    keep = 1 - np.clip((np.arange(len(plain)) - first) / width, 0.0, 1.0)
    return plain * (keep + (1 - keep) / factor), _yarn_attention_scaling(factor, numbers)


def _yarn_attention_scaling(factor: float, numbers: Mapping[str, float]) -> float:
    if "attention_factor" in numbers:
        return numbers["attention_factor"]

    def magnitude(scale: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * scale * exact_math.log(factor) + 1.0

    if numbers.get("mscale") and numbers.get("mscale_all_dim"):
        return magnitude(numbers["mscale"]) / magnitude(numbers["mscale_all_dim"])
    return magnitude(1.0)


@dataclass(frozen=True)
class _Scaling:
    needs: tuple[str, ...]
    apply: Callable[
        [Frequencies, Mapping[str, float], Mapping[str, object]], tuple[Frequencies, float]
    ]


_SCALINGS: Mapping[str, _Scaling] = {
    "default": _Scaling((), _default),
    "linear": _Scaling(("factor",), _linear),
    "llama3": _Scaling(
        ("factor", "low_freq_factor", "high_freq_factor"),
        _llama3,
    ),
    "yarn": _Scaling(("factor",), _yarn),
}
