import pytest

from enginewright.kernels.compile.resources import ResourceBounds, resource_usage
from enginewright.kernels.descriptor import Resources

REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'norm_f16' for 'sm_90'
ptxas info    : Function properties for norm_f16
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 512 bytes smem
ptxas info    : Compile time = 25.328 ms
ptxas info    : Compiling entry function 'big' for 'sm_90'
ptxas info    : Function properties for big
    176 bytes stack frame, 344 bytes spill stores, 380 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 176 bytes cumulative stack size
"""


def test_usage_by_kernel():
    assert resource_usage(REPORT) == {
        "norm_f16": Resources(64, 512, 0, 0, 0),
        "big": Resources(24, 0, 176, 344, 380),
    }


def test_a_report_without_kernels():
    assert resource_usage("ptxas info    : 0 bytes gmem\n") == {}


def test_a_report_that_is_cut_short():
    with pytest.raises(ValueError, match="not a report"):
        resource_usage("ptxas info    : Compiling entry function 'a' for 'sm_90'\n")


def test_bounds():
    usage = resource_usage(REPORT)
    bounds = ResourceBounds(max_registers=32, forbid_spills=True)
    (registers,) = bounds.problems("a.cu", usage["norm_f16"])
    assert (registers.expected, registers.actual) == ("at most 32", "64")
    (spills,) = bounds.problems("a.cu", usage["big"])
    assert spills.what == "a kernel spills registers to local memory within 32 registers"
    assert spills.actual == "344 bytes stored, 380 bytes loaded"
    assert list(ResourceBounds(None, False).problems("a.cu", usage["big"])) == []
