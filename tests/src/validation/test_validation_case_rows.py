"""Rows of docs/cases.md about running and judging a model."""

from __future__ import annotations

import onnx
import onnx.helper
import onnx.parser
import onnxruntime

from enginewright.compatibility.tables import find, table
from enginewright.validation.judgement import Thresholds, judge

MODEL = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 20]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
)


def test_row_08_a_session_that_asked_for_cuda_lists_the_cpu_only() -> None:
    """What is active counts, not what was asked for: the engine code compares the list."""
    wanted = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(MODEL.SerializeToString(), providers=wanted)
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_row_23_the_table_is_what_this_onnxruntime_accepts() -> None:
    row = find("onnx_reader", f"onnxruntime {onnxruntime.__version__}")
    assert row is not None, "a new ONNX Runtime needs a row of its own"

    def accepts(opset: int, ir_version: int) -> bool:
        model = onnx.ModelProto()
        model.CopyFrom(MODEL)
        model.ir_version = ir_version
        model.opset_import[0].version = opset
        try:
            onnxruntime.InferenceSession(model.SerializeToString())
        except Exception:  # the library's exceptions have no common base class
            return False
        return True

    assert accepts(row["opset_max"], row["ir_max"])
    assert not accepts(row["opset_max"] + 1, row["ir_max"])
    assert not accepts(row["opset_max"], row["ir_max"] + 1)


def test_row_23_the_table_is_what_onnx_itself_says() -> None:
    known = {f"onnx {entry[0]}": entry[1:3] for entry in onnx.helper.VERSION_TABLE}
    rows = [row for key, row in table("onnx_reader").items() if key.startswith("onnx ")]
    assert len(rows) == 20
    for row in rows:
        assert known[row.key] == (row["ir_max"], row["opset_max"])


def test_row_20_one_logit_that_is_no_number_fails_without_any_threshold() -> None:
    total = {"nan_count": 1, "inf_count": 0, "reference_nonfinite_count": 0}
    verdicts = judge({"total": total, "runs": []}, Thresholds())
    assert [verdict.problem().what for verdict in verdicts if not verdict.passed] == [
        "`nan_count` missed its bound"
    ]
