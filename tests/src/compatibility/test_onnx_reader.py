"""ONNX readers: the IR version and the opset, separately."""

import pytest

from enginewright.compatibility.onnx_reader import reader_problems
from enginewright.errors import InputError


def test_row_23_ir_10_of_onnx_1_16_is_too_new_for_onnxruntime_1_17():
    (problem,) = reader_problems("onnxruntime 1.17", opset=20, ir_version=10)
    assert problem.expected == "at most 9"
    assert problem.actual == "10"


def test_row_23_opset_and_ir_are_separate_limits():
    problems = reader_problems("onnxruntime 1.17", opset=21, ir_version=10)
    assert [problem.actual for problem in problems] == ["10", "21"]


def test_row_23_what_fits_passes():
    assert reader_problems("onnxruntime 1.32.0", opset=23, ir_version=13) == []
    assert reader_problems("tensorrt-rtx 1.7.1.116", opset=23, ir_version=11) == []


def test_row_23_the_measured_limits_of_onnxruntime_1_32():
    (problem,) = reader_problems("onnxruntime 1.32.0", opset=23, ir_version=99)
    assert problem.expected == "at most 14"


def test_unknown_reader_lists_the_known_ones():
    with pytest.raises(InputError, match=r"onnxruntime 1\.32\.0"):
        reader_problems("onnxruntime 0.1", opset=7, ir_version=3)


def test_row_d7_onnx_runtime_1_25_reads_ir_10_and_opset_26():
    assert reader_problems("onnxruntime 1.25", opset=26, ir_version=10) == []
    assert len(reader_problems("onnxruntime 1.25", opset=27, ir_version=14)) == 2
