"""Toolkits against architectures, host compilers and PTX."""

import pytest

from enginewright.compatibility.toolkit import (
    ptx_problem,
    toolkit_problems,
    toolkit_row,
    toolkits_for,
)
from enginewright.compatibility.version import ComputeCapability
from enginewright.errors import InputError


def capabilities(*texts: str) -> list[ComputeCapability]:
    return [ComputeCapability.parse(text) for text in texts]


def test_row_15_gcc_newer_than_the_toolkit_accepts():
    (problem,) = toolkit_problems("12.1", capabilities("8.9"), gcc="13.2.0")
    assert problem.where == "toolkit row `12.1`"
    assert problem.expected == "gcc 12 or older"
    assert "-allow-unsupported-compiler only moves the errors" in problem.fix


def test_row_15_the_toolkits_own_limit_passes():
    assert toolkit_problems("12.1", capabilities("8.9"), gcc="12.3.0") == []


@pytest.mark.parametrize("target", ["12.0", "12.0a", "10.0"])
def test_row_16_blackwell_needs_cuda_12_8(target):
    (problem,) = toolkit_problems("12.4", capabilities("8.9", target))
    assert f"cannot compile for compute capability {target}" in problem.what
    assert "12.8" in problem.fix
    assert toolkit_problems("12.8", capabilities("8.9", target)) == []


def test_row_16_cuda_13_dropped_volta():
    assert toolkit_problems("12.9", capabilities("7.0")) == []
    assert len(toolkit_problems("13.0", capabilities("7.0", "7.5"))) == 1


def test_all_problems_at_once():
    assert len(toolkit_problems("12.4", capabilities("10.0", "12.0"), gcc="14.2")) == 3


def test_unknown_toolkit_lists_the_known_ones():
    with pytest.raises(InputError, match=r"`12\.8`"):
        toolkit_problems("12.7", capabilities("8.9"))


def test_toolkits_for_a_capability():
    able = toolkits_for(ComputeCapability.parse("12.1"))
    assert able == ["12.9", "13.0", "13.1", "13.2", "13.3"]


def test_row_40_ptxas_older_than_the_compilers_ptx():
    problem = ptx_problem("8.3", "11.8")
    assert problem.where == "ptx row `8.3`"
    assert problem.expected == "CUDA 12.3 or newer"
    assert ptx_problem("8.3", "12.3") is None


def test_a_full_version_finds_the_row_of_its_release():
    assert toolkit_row("13.0.88").key == "13.0"
    with pytest.raises(InputError, match="toolkit has no such row"):
        toolkit_row("11.7.99")


@pytest.mark.parametrize(
    ("emitted", "cuda", "what"),
    [
        ("9.2", "13.2", None),
        ("9.2", "13.1", "ptxas of CUDA 13.1 cannot read PTX 9.2"),
        ("9.9", "13.9", "the table of PTX versions has no row for PTX 9.9"),
        ("42.0", "99.0", "the table of PTX versions has no row for PTX 42.0"),
        ("6.0", "13.0", None),
    ],
)
def test_row_d7_ptx_that_the_table_lacks_is_never_read(emitted, cuda, what):
    problem = ptx_problem(emitted, cuda)
    assert (problem is None) if what is None else problem.what.startswith(what)


@pytest.mark.parametrize("toolkit", ["13.1", "13.2", "13.2.86"])
def test_row_d7_newer_toolkits_have_rows(toolkit):
    assert toolkit_problems(toolkit, capabilities("12.1", "10.3f")) == []
