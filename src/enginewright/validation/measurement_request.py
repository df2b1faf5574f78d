"""What to measure, decoded and validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from enginewright.errors import Problem, raise_if_any

FEATURE_EXTRACTION = "feature-extraction"
TASKS = ("text-generation", "text-generation-with-past", FEATURE_EXTRACTION)
REFERENCE_DTYPES = ("float32", "float64")
POOLINGS = ("none", "mean", "cls")


@dataclass(frozen=True)
class MeasurementRequest:
    task: str
    max_sequence: int
    """Longest sequence in tokens that the engine takes."""
    sequence_lengths: tuple[int, ...]
    """Tokens of each window of held-out text."""
    batch_sizes: tuple[int, ...]
    windows: int = 8
    """Windows of text for each sequence length."""
    sentences: int = 50
    """Lines of text, one sentence each; for feature extraction only."""
    reference_dtype: str = "float32"
    pooling: str = "mean"
    """How the reference turns token states into the embedding; `none` when the model gives them."""
    normalize: bool = True
    """Whether the embedding is divided by its L2 norm."""
    threads: int = 1
    """Of each library; the order of summation, so the last digits, depends on it."""

    @classmethod
    def decode(cls, parameters: Mapping[str, Any]) -> MeasurementRequest:
        """Raise `InputError` with every problem of the parameters."""
        known = [field.name for field in fields(cls)]
        problems = [
            Problem("unknown parameter", name, "one of " + ", ".join(known))
            for name in sorted({*parameters} - {*known})
        ]
        for name, default, choices in (
            ("task", None, TASKS),
            ("reference_dtype", "float32", REFERENCE_DTYPES),
            ("pooling", "mean", POOLINGS),
        ):
            value = parameters.get(name, default)
            if value not in choices:
                expected = "one of " + ", ".join(choices)
                problems.append(Problem(f"unknown {name}", name, expected, str(value)))
        for name in ("max_sequence", "windows", "sentences", "threads"):
            value = parameters.get(name, None if name == "max_sequence" else 1)
            if type(value) is not int or value < 1:
                problems.append(Problem("not a count", name, "an integer, at least 1", str(value)))
        for name in ("sequence_lengths", "batch_sizes"):
            value = parameters.get(name)
            if not isinstance(value, list) or not value or not all(_is_count(v) for v in value):
                expected = "a list of integers, each at least 1"
                problems.append(Problem("not a list of counts", name, expected, str(value)))
        if type(parameters.get("normalize", True)) is not bool:
            actual = str(parameters["normalize"])
            problems.append(Problem("not a boolean", "normalize", "true or false", actual))
        if not problems:
            problems += _length_problems(parameters)
        raise_if_any(problems)
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in parameters.items()
        }
        return cls(**given)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1


def _length_problems(parameters: Mapping[str, Any]) -> list[Problem]:
    longest = parameters["max_sequence"]
    return [
        Problem("window does not fit", "sequence_lengths", f"2 to {longest} tokens", str(length))
        for length in parameters["sequence_lengths"]
        if not 2 <= length <= longest
    ]
