from __future__ import annotations

from enginewright.engines.limits import Limits

PREFILL = {"batch": 1, "sequence": 2048, "past_sequence": 2048, "total_sequence": 4096}
DECODE = {"batch": 8, "sequence": 1, "past_sequence": 4095, "total_sequence": 4096}


def test_the_greatest_size_of_all_profiles() -> None:
    assert Limits.of_axes([PREFILL, DECODE]) == Limits(8, 2048, 4096)


def test_without_a_cache_a_row_is_what_one_call_takes() -> None:
    assert Limits.of_axes([{"batch": 2, "sequence": 256}]) == Limits(2, 256, 256)


def test_no_ranges_are_no_limits() -> None:
    assert Limits.of_axes([]) == Limits(None, None, None)


def test_the_model_limits_a_row_where_it_reaches_less_far() -> None:
    assert Limits(2, 256, 256).within(128) == Limits(2, 256, 128)
    assert Limits(2, 256, 256).within(512) == Limits(2, 256, 256)
    assert Limits().within(512) == Limits(None, None, 512)
    assert Limits(2).within(None) == Limits(2)
