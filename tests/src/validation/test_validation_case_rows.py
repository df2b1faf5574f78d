"""Rows of docs/cases.md about running and judging a model."""

from __future__ import annotations

import onnx
import onnx.parser
import onnxruntime
import pytest

from enginewright.validation.judgement import Thresholds, judge

MODEL = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 20]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
)


def test_row_08_a_session_that_asked_for_cuda_lists_the_cpu_only() -> None:
    """What is active counts, not what was asked for: the engine code compares the list."""
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this build of ONNX Runtime has CUDA")
    wanted = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(MODEL.SerializeToString(), providers=wanted)
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_row_20_one_logit_that_is_no_number_fails_without_any_threshold() -> None:
    total = {"nan_count": 1, "inf_count": 0, "reference_nonfinite_count": 0}
    verdicts = judge({"total": total}, Thresholds())
    assert [verdict.problem().what for verdict in verdicts if not verdict.passed] == [
        "`nan_count` missed its bound"
    ]
