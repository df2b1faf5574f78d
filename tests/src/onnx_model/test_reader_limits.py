from __future__ import annotations

from enginewright.onnx_model.reader_limits import Reader, find_limits


def test_ir_and_opset_beyond_the_reader() -> None:
    """onnx 1.16 wrote IR 10 where ONNX Runtime 1.17 read 9: both limits are checked."""
    reader = Reader("ONNX Runtime 1.17", 7, 20, 9)
    problems = find_limits(reader, "m", opset=23, ir_version=10)
    assert [(p.where, p.expected, p.actual) for p in problems] == [
        ("m, `ir_version`", "at most 9", "10"),
        ("m, `opset_import`", "7 to 20", "23"),
    ]
    assert find_limits(reader, "m", opset=20, ir_version=9) == ()


def test_a_model_that_names_no_opset() -> None:
    (problem,) = find_limits(Reader("X", 7, 23, 10), "m", opset=None, ir_version=10)
    assert problem.what == "the model does not say which opset it uses"
