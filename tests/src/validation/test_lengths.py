from __future__ import annotations

import pytest

from enginewright.engines.limits import Limits
from enginewright.errors import InputError
from enginewright.validation.lengths import choose_lengths
from enginewright.validation.measurement_request import MeasurementRequest


def choose(
    limits: Limits, available: int = 10_000, *, has_cache: bool = False, **request: int | None
) -> tuple[tuple[int, ...], int | None, tuple[str, ...]]:
    wanted = MeasurementRequest("text-generation", **request)  # type: ignore[arg-type]
    lengths = choose_lengths(limits, wanted, available, has_cache=has_cache)
    return lengths.measured, lengths.greatest, lengths.not_reached


def test_rows_reach_the_least_of_what_engine_and_model_allow() -> None:
    assert choose(Limits(sequence=1024), positions=2048) == ((17, 64, 1024), 1024, ())
    assert choose(Limits(sequence=1024), positions=512) == ((17, 64, 512), 512, ())


def test_the_tokens_of_a_call_do_not_limit_a_row_with_a_cache() -> None:
    limits = Limits(sequence=8, total_sequence=128)
    assert choose(limits, has_cache=True) == ((17, 64, 128), 128, ())


def test_a_short_engine_is_measured_at_its_length_alone() -> None:
    assert choose(Limits(sequence=16)) == ((16,), 16, ())


def test_what_is_not_reached_has_its_reason() -> None:
    by_field = ("rows of 4097 to 32768 tokens: `max_length` is 4096",)
    assert choose(Limits(), positions=32768) == ((17, 64, 4096), 32768, by_field)
    by_text = ("rows of 301 to 32768 tokens: the dataset has 300 tokens",)
    assert choose(Limits(), 300, positions=32768) == ((17, 64, 300), 32768, by_text)
    unknown = ("neither engine nor model says a greatest length; measured to 300",)
    assert choose(Limits(), 300) == ((17, 64, 300), None, unknown)


def test_one_token_is_no_row() -> None:
    with pytest.raises(InputError, match="there is nothing to measure with"):
        choose(Limits(), 1)
