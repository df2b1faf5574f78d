import pytest

from enginewright.errors import InputError
from enginewright.kernels.compile.ptx import Entry, entries
from enginewright.kernels.descriptor import Pointer, Value

PTX = """//
.version 9.0
.target sm_90
.address_size 64

.visible .entry second(
	.param .u64 .ptr .align 1 second_param_0,
	.param .u64 second_param_1,
	.param .f32 second_param_2
)
.maxntid 1024
{
	ret;
}
.visible .entry first()
.reqntid 32, 4, 1
{
	ret;
}
"""


def test_entries_with_declarations():
    declared = {
        "second": (
            Pointer("x", "float16", writable=False),
            Value("rows", "int64"),
            Value("e", "float32"),
        )
    }
    assert entries(PTX, declared, "a.cu") == [
        Entry("first", (), 128),
        Entry("second", declared["second"], 1024),
    ]


def test_entries_without_declarations_are_named_by_place():
    (_, second) = entries(PTX, {}, "a.cu")
    assert second.parameters == (
        Value("parameter_0", "uint64"),
        Value("parameter_1", "uint64"),
        Value("parameter_2", "float32"),
    )


def test_a_declaration_that_does_not_match():
    declared = {"second": (Pointer("x", "float16", writable=False), Value("rows", "int32"))}
    with pytest.raises(InputError, match="does not match what was compiled") as caught:
        entries(PTX, declared, "a.cu")
    (problem,) = caught.value.problems
    assert problem.where == "a.cu, kernel `second`"
    assert problem.expected == "uint64, uint64, float32"
    assert problem.actual == "pointer, int32"
