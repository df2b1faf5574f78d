"""Versions and compute capabilities are integers, whatever they look like."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginewright.compatibility.version import ComputeCapability, Version
from enginewright.errors import InputError


@pytest.mark.parametrize(
    ("text", "major", "minor", "variant", "sm"),
    [
        ("8.9", 8, 9, "", "sm_89"),
        ("10.0", 10, 0, "", "sm_100"),
        ("12.0", 12, 0, "", "sm_120"),
        ("90a", 9, 0, "a", "sm_90a"),
        ("sm_90a", 9, 0, "a", "sm_90a"),
        ("120f", 12, 0, "f", "sm_120f"),
        ("12.0f", 12, 0, "f", "sm_120f"),
        ("compute_75", 7, 5, "", "sm_75"),
    ],
)
def test_row_54_compute_capabilities_are_parsed_as_integers(text, major, minor, variant, sm):
    parsed = ComputeCapability.parse(text)
    assert (parsed.major, parsed.minor, parsed.variant, parsed.sm) == (major, minor, variant, sm)


@pytest.mark.parametrize("text", ["", "9", "8.", ".9", "8.9.1", "-1", "1e1", "8.99", "90b", "8,9"])
def test_row_54_what_is_no_compute_capability_is_refused(text):
    with pytest.raises(InputError, match="not a compute capability"):
        ComputeCapability.parse(text)


def test_row_54_ten_is_newer_than_nine():
    parsed = [ComputeCapability.parse(text) for text in ("10.0", "9.0", "12.0", "8.9", "9.0a")]
    assert [str(item) for item in sorted(parsed)] == ["8.9", "9.0", "9.0a", "10.0", "12.0"]


@given(st.integers(1, 99), st.integers(0, 9), st.sampled_from(["", "a", "f"]))
def test_every_spelling_of_a_capability_is_the_same(major, minor, variant):
    expected = ComputeCapability(major, minor, variant)
    for text in (f"{major}.{minor}{variant}", f"{major}{minor}{variant}", expected.sm):
        assert ComputeCapability.parse(text) == expected


@given(st.text(max_size=30))
def test_any_text_is_a_version_or_refused(text):
    with contextlib.suppress(InputError):
        assert Version.parse(text).text == text


@pytest.mark.parametrize(
    ("older", "newer"),
    [("9.2", "10.0"), ("525.60.13", "525.125.06"), ("1.7.1.16", "1.7.1.116"), ("12", "12.1")],
)
def test_versions_compare_field_by_field(older, newer):
    assert Version.parse(older) < Version.parse(newer)


def test_a_missing_field_counts_as_zero():
    assert Version.parse("12.0") == Version.parse("12")
    assert hash(Version.parse("12.0")) == hash(Version.parse("12"))
