from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from enginewright.errors import InputError
from enginewright.passes.bfloat16_emulation import uses_bfloat16
from enginewright.validation.graph_backend import GraphBackend

MODEL = """
<ir_version: 10, opset_import: ["" : 23]>
graph (int64[n, m] input_ids) => (bfloat16[n, m] logits)
{
  x = Cast<to=16>(input_ids)
  a = Add(x, w)
  logits = Sub(a, w)
}
"""


def save(path: Path, text: str, weight: float) -> Path:
    model = onnx.parser.parse_model(text)
    array = np.array(weight, ml_dtypes.bfloat16)
    model.graph.initializer.append(numpy_helper.from_array(array, "w"))
    onnx.save(model, str(path))
    return path


def test_each_result_is_rounded_to_bfloat16(tmp_path: Path) -> None:
    path = save(tmp_path / "model.onnx", MODEL, 256.0)
    assert uses_bfloat16(path)
    model = GraphBackend(path, threads=1)
    assert "emulated" in model.arithmetic
    ids = np.array([[1, 2, 3, 4]], np.int64)
    # 257 and 259 have no bfloat16: they become 256 and 260 (to even) before 256 is subtracted.
    outputs, _ = model.run({"input_ids": ids}, ["logits"])
    assert outputs["logits"].tolist() == [[0.0, 2.0, 4.0, 4.0]]


def test_weights_may_be_a_hard_link(tmp_path: Path) -> None:
    path = save(tmp_path / "whole.onnx", MODEL, 256.0)
    onnx.save(
        onnx.load(path),
        tmp_path / "model.onnx",
        save_as_external_data=True,
        location="weights",
        size_threshold=0,
    )
    (tmp_path / "store").hardlink_to(tmp_path / "weights")
    ids = np.array([[1, 2, 3, 4]], np.int64)
    model = GraphBackend(tmp_path / "model.onnx", threads=1)
    outputs, _ = model.run({"input_ids": ids}, ["logits"])
    assert outputs["logits"].tolist() == [[0.0, 2.0, 4.0, 4.0]]


def test_other_graphs_are_run_as_they_are(tmp_path: Path) -> None:
    text = MODEL.replace("bfloat16", "float").replace("to=16", "to=1")
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.array(3, np.float32), "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path))
    assert not uses_bfloat16(path)
    assert GraphBackend(path, threads=1).arithmetic == "as ONNX Runtime has it"


def test_subgraphs_are_refused(tmp_path: Path) -> None:
    text = """
    <ir_version: 10, opset_import: ["" : 23]>
    graph (bool c, bfloat16[n] x) => (bfloat16[n] y)
    {
      y = If (c) <
        then_branch = a () => (bfloat16[n] z) { z = Mul(x, w) },
        else_branch = b () => (bfloat16[n] z) { z = Identity(x) }
      >
    }
    """
    path = save(tmp_path / "model.onnx", text, 2.0)
    with pytest.raises(InputError) as caught:
        GraphBackend(path, threads=1)
    assert "cannot be emulated" in caught.value.problems[0].what
