"""Drivers against CUDA releases; the numbers are those of NVIDIA's tables."""

import pytest

from enginewright.compatibility.driver import (
    compatibility_package,
    minimum_driver,
    newest_cuda,
)


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [
        ("418.87.00", "10.1"),
        ("440.33", "10.2"),
        ("520.61.05", "11.8"),
        ("525.60.13", "12.0"),
        ("550.54.14", "12.4"),
        ("580.159.04", "13.0"),
    ],
)
def test_newest_cuda_of_a_driver_is_what_nvidia_smi_prints(driver, cuda):
    assert newest_cuda(driver).key == cuda


def test_a_driver_older_than_the_table_has_no_row():
    assert newest_cuda("390.10") is None


@pytest.mark.parametrize(
    ("cuda", "minimum"),
    [
        ("10.2", "440.33"),
        ("11.8", "450.80.02"),
        ("12.0", "525.60.13"),
        ("12.8", "525.60.13"),
        ("13.0", "580.65.06"),
    ],
)
def test_minimum_driver(cuda, minimum):
    found = minimum_driver(cuda)
    assert str(found.minimum) == minimum
    assert found.row.key == cuda


def test_a_newer_minor_release_rests_on_its_major():
    assert str(minimum_driver("13.4").minimum) == "580.65.06"


def test_a_gap_of_the_table_rests_on_its_major():
    assert str(minimum_driver("12.7").minimum) == "525.60.13"


def test_nothing_is_guessed_about_an_unknown_major_or_a_gap_without_the_rule():
    assert minimum_driver("14.0") is None
    assert minimum_driver("10.3") is None


def test_forward_compatibility_package_is_named_after_the_release():
    assert compatibility_package("12.8")["package"] == "cuda-compat-12-8"
    assert compatibility_package("10.1") is None
