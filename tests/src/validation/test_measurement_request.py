from __future__ import annotations

import pytest

from enginewright.document import decode
from enginewright.engines.limits import Limits
from enginewright.errors import InputError
from enginewright.validation.measurement_request import MeasurementRequest


def test_defaults() -> None:
    request = decode(MeasurementRequest, {"task": "text-generation"}, "parameters")
    assert request.limits == Limits(None, None, None)
    assert (request.max_samples, request.max_length, request.threads) == (None, 4096, 1)
    assert request.reference_dtype == "float32"


def test_all_mistakes_are_reported_at_once() -> None:
    given = {
        "max_length": 0,
        "max_samples": True,
        "limits": {"batch": "many"},
        "reference_dtype": "float16",
        "tolerance": 1,
    }
    with pytest.raises(InputError) as caught:
        decode(MeasurementRequest, given, "parameters")
    text = str(caught.value)
    for place in ("unknown field `tolerance`", "limits.batch", "reference_dtype", "max_samples"):
        assert place in text
    assert "field `task` is missing" in text
    assert "parameters, max_length\n  expected: an integer, at least 1\n  actual:   0" in text
