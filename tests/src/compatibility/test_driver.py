"""Drivers against CUDA releases; the numbers are those of NVIDIA's tables."""

import pytest

from enginewright.compatibility.driver import (
    compatibility_package,
    driver_problem,
    minimum_driver,
    newest_cuda,
    release_row,
)
from enginewright.compatibility.question import Question, answer, asked_row
from enginewright.errors import InputError


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


@pytest.mark.parametrize(
    ("driver", "cuda", "runs"),
    [
        ("595.78", "13.2", True),
        ("580.65.06", "13.2", True),
        ("580.65.05", "13.2", False),
        ("580.65.06", "13.9", True),
        ("575.51.03", "13.9", False),
        ("525.60.13", "12.9", True),
        ("418.87.00", "10.2", False),
    ],
)
def test_row_d7_one_rule_for_a_driver_whoever_asks(driver, cuda, runs):
    problem = driver_problem(driver, cuda)
    assert (problem is None) == runs
    asked = answer(asked_row("driver_cuda", cuda), Question(driver=driver))
    assert asked == ([] if runs else [problem])


def test_row_d7_a_release_of_an_unknown_major_is_never_fine():
    problem = driver_problem("999.1", "14.0")
    assert "no row for CUDA 14.0" in problem.what
    assert "add a `[[row]]`" in problem.fix
    with pytest.raises(InputError, match="to src/enginewright/compatibility/driver_cuda"):
        asked_row("driver_cuda", "14.0")


def test_row_d7_a_release_without_a_row_has_the_rule_of_its_major():
    found = release_row("13.9")
    assert found["minor_compatible_driver"] == "580.65.06"
    assert "the table has no row for 13.9" in found["by_rule"]
