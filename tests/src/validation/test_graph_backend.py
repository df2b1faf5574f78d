from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from enginewright.engines.tensor import EngineTensor
from enginewright.errors import InputError
from enginewright.validation.graph_backend import GraphBackend

CACHE = """
<ir_version: 10, opset_import: ["" : 23]>
graph (int64[batch, sequence] input_ids, float16[batch, 2, past, 3] cache)
   => (int64[batch, sequence] y, float16[batch, 2, past, 3] present)
{
  y = Identity(input_ids)
  present = Identity(cache)
}
"""


def load(tmp_path: Path, text: str) -> GraphBackend:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), str(path))
    return GraphBackend(path, threads=1)


def test_tensors_and_an_empty_cache(tmp_path: Path) -> None:
    backend = load(tmp_path, CACHE)
    assert backend.tensors == (
        EngineTensor("input_ids", "input", "int64", ("batch", "sequence")),
        EngineTensor("cache", "input", "float16", ("batch", 2, "past", 3)),
        EngineTensor("y", "output", "int64", ("batch", "sequence")),
        EngineTensor("present", "output", "float16", ("batch", 2, "past", 3)),
    )
    empty = backend.empty("cache", 4)
    assert (empty.shape, empty.dtype) == ((4, 2, 0, 3), np.float16)
    ids = np.array([[7, 8]], np.int64)
    inputs = {"input_ids": ids, "cache": backend.empty("cache", 1)}
    outputs, held = backend.run(inputs, ["y"], ["present"])
    assert outputs["y"].tolist() == [[7, 8]]
    assert held["present"].shape == (1, 2, 0, 3)


def test_a_dtype_that_cannot_be_fed_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(
            tmp_path,
            """
            <ir_version: 10, opset_import: ["" : 23]>
            graph (string[n] words) => (string[n] y) { y = Identity(words) }
            """,
        )
    assert caught.value.problems[0].what == "input `words` has a dtype that cannot be fed"


@pytest.mark.parametrize(
    "content", [pytest.param(b"\x08\x63", id="no graph"), pytest.param(b"\xff" * 9, id="no model")]
)
def test_a_refused_model_gives_the_reason(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        GraphBackend(path, threads=1)
    [problem] = caught.value.problems
    assert (problem.what, problem.where) == ("ONNX Runtime refuses the model", str(path))
    assert problem.actual


def test_a_shape_that_the_model_cannot_take_is_named(tmp_path: Path) -> None:
    backend = load(
        tmp_path,
        """
        <ir_version: 10, opset_import: ["" : 23]>
        graph (int64[1, sequence] input_ids) => (int64[1, sequence] y) { y = Identity(input_ids) }
        """,
    )
    with pytest.raises(InputError) as caught:
        backend.run({"input_ids": np.ones((4, 2), np.int64)}, ["y"])
    [problem] = caught.value.problems
    assert problem.what == "ONNX Runtime cannot run the model"
    assert problem.where == "inputs input_ids [4, 2]"
