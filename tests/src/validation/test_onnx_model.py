from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from enginewright.errors import InputError
from enginewright.validation.onnx_model import OnnxModel

CACHE = """
<ir_version: 10, opset_import: ["" : 23]>
graph (int64[batch, sequence] input_ids, int64[batch, total] attention_mask,
       int64[batch, sequence] position_ids, float16[batch, 2, past, 3] cache)
   => (int64[batch, sequence] positions, int64[1] past_size)
{
  positions = Identity(position_ids)
  past_size = Shape<start=2, end=3>(cache)
}
"""


def load(tmp_path: Path, text: str) -> OnnxModel:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), str(path))
    return OnnxModel.load(path, threads=1)


@pytest.fixture
def cache(tmp_path: Path) -> OnnxModel:
    model = onnx.parser.parse_model(CACHE)
    # The parser of the textual form takes no names with a number between dots.
    model.graph.input[3].name = model.graph.node[1].input[0] = "past_key_values.0.key"
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path))
    return OnnxModel.load(path, threads=1)


def test_positions_count_tokens_and_the_cache_is_empty(cache: OnnxModel) -> None:
    ids = np.array([[7, 8, 9], [0, 7, 8]], np.int64)
    mask = np.array([[1, 1, 1], [0, 1, 1]], np.int64)
    outputs = cache.run(ids, mask)
    assert outputs["positions"].tolist() == [[0, 1, 2], [0, 0, 1]]
    assert outputs["past_size"].tolist() == [0]


def test_positions_go_on_behind_a_past(cache: OnnxModel) -> None:
    ids = np.array([[7, 8]], np.int64)
    past = {"past_key_values.0.key": np.zeros((1, 2, 3, 3), np.float16)}
    outputs = cache.run(ids, np.ones((1, 5), np.int64), past)
    assert outputs["positions"].tolist() == [[3, 4]]
    assert outputs["past_size"].tolist() == [3]


@pytest.mark.parametrize(("size", "expected"), [("1", True), ("sequence", False)])
def test_knows_graphs_that_give_the_last_logits_only(
    tmp_path: Path, size: str, expected: bool
) -> None:
    text = f"""
    <ir_version: 10, opset_import: ["" : 23]>
    graph (float[batch, {size}, 5] input_ids) => (float[batch, {size}, 5] logits)
    {{
      logits = Identity(input_ids)
    }}
    """
    assert load(tmp_path, text).last_logits_only is expected


def test_an_unknown_input_is_named(tmp_path: Path) -> None:
    model = load(
        tmp_path,
        """
        <ir_version: 10, opset_import: ["" : 23]>
        graph (float[n] pixel_values) => (float[n] y) { y = Identity(pixel_values) }
        """,
    )
    with pytest.raises(InputError) as caught:
        model.run(np.ones((1, 1), np.int64), np.ones((1, 1), np.int64))
    assert caught.value.problems[0].what == "input `pixel_values` is not known"


@pytest.mark.parametrize(
    "content", [pytest.param(b"\x08\x63", id="no graph"), pytest.param(b"\xff" * 9, id="no model")]
)
def test_a_refused_model_gives_the_reason(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        OnnxModel.load(path, threads=1)
    [problem] = caught.value.problems
    assert (problem.what, problem.where) == ("ONNX Runtime refuses the model", str(path))
    assert problem.actual


def test_a_shape_that_the_model_cannot_take_is_named(tmp_path: Path) -> None:
    model = load(
        tmp_path,
        """
        <ir_version: 10, opset_import: ["" : 23]>
        graph (int64[1, sequence] input_ids) => (int64[1, sequence] y) { y = Identity(input_ids) }
        """,
    )
    with pytest.raises(InputError) as caught:
        model.run(np.ones((4, 2), np.int64), np.ones((4, 2), np.int64))
    [problem] = caught.value.problems
    assert problem.what == "ONNX Runtime cannot run the model"
    assert problem.where == "inputs input_ids [4, 2]"
