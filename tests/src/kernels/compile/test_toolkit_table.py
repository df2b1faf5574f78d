import pytest

from enginewright.errors import InputError
from enginewright.kernels.compile.toolkit_table import (
    architecture_number,
    compute_capability_key,
    toolkit_release,
)


def test_a_release_of_the_table():
    release = toolkit_release("13.0.88")
    assert release.ptx_version == "9.0"
    release.require(("8.0", "9.0", "12.0"), where="compute_capabilities")


def test_every_unknown_architecture_is_named_with_what_is_known():
    with pytest.raises(InputError) as caught:
        toolkit_release("13.0.88").require(("7.0", "9.0", "99.0"), where="compute_capabilities")
    assert [problem.actual for problem in caught.value.problems] == ["'7.0'", "'99.0'"]
    assert caught.value.problems[0].what == "CUDA 13.0 does not compile for this architecture"
    assert caught.value.problems[0].expected.startswith("one of 7.5, 8.0, 8.6")


def test_a_toolkit_that_is_not_in_the_table():
    with pytest.raises(InputError, match="no table of architectures"):
        toolkit_release("11.8.89")


def test_compute_capabilities():
    assert compute_capability_key("12.0") > compute_capability_key("9.0")
    assert architecture_number("12.0") == "120"
    for wrong in ("9", "sm_90", "9.0a", ""):
        with pytest.raises(ValueError, match="not a compute capability"):
            compute_capability_key(wrong)
