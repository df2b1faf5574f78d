from __future__ import annotations

from typing import Any

import pytest

from enginewright.errors import InputError
from enginewright.validation.measurement_request import MeasurementRequest

GIVEN: dict[str, Any] = {
    "task": "text-generation",
    "max_sequence": 128,
    "sequence_lengths": [16, 128],
    "batch_sizes": [1, 4],
}


def test_defaults() -> None:
    request = MeasurementRequest.decode(GIVEN)
    assert request.sequence_lengths == (16, 128)
    assert (request.windows, request.sentences, request.threads) == (8, 50, 1)
    assert (request.reference_dtype, request.pooling, request.normalize) == (
        "float32",
        "mean",
        True,
    )


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(InputError) as caught:
        MeasurementRequest.decode(
            {
                "task": "text-generations",
                "max_sequence": 0,
                "sequence_lengths": [],
                "batch_sizes": [0],
                "windows": True,
                "reference_dtype": "float16",
                "pooling": "max",
                "normalize": 1,
                "tolerance": 1,
            }
        )
    assert [problem.where for problem in caught.value.problems] == [
        "tolerance",
        "task",
        "reference_dtype",
        "pooling",
        "max_sequence",
        "windows",
        "sequence_lengths",
        "batch_sizes",
        "normalize",
    ]


@pytest.mark.parametrize("length", [1, 129])
def test_a_window_must_fit(length: int) -> None:
    with pytest.raises(InputError) as caught:
        MeasurementRequest.decode({**GIVEN, "sequence_lengths": [16, length]})
    [problem] = caught.value.problems
    assert (problem.expected, problem.actual) == ("2 to 128 tokens", str(length))
