from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from enginewright.errors import InputError
from enginewright.products.tensorrt.onnx_signature import OnnxSignature, TensorSignature

MODEL = """
<ir_version: 10, opset_import: ["" : 23]>
graph (float16[batch, sequence, 16] x, float[1, ?] mask) => (float16[batch, sequence, 8] y)
<float16[16, 8] w = {0}>
{
  y = MatMul(x, w)
}
"""


def test_reads_names_sizes_and_axes(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL.replace("= {0}", ""))
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path))
    signature = OnnxSignature.read(path)
    assert signature.inputs == (
        TensorSignature("x", ("batch", "sequence", 16)),
        TensorSignature("mask", (1, None)),
    )
    assert signature.outputs == (TensorSignature("y", ("batch", "sequence", 8)),)


def test_an_input_with_an_initializer_is_not_fed(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "bias"], ["y"])],
        "graph",
        [value("x", TensorProto.FLOAT, ["n"]), value("bias", TensorProto.FLOAT, [1])],
        [value("y", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor("bias", TensorProto.FLOAT, [1], [2.0])],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph), str(path))
    assert OnnxSignature.read(path).inputs == (TensorSignature("x", ("n",)),)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", id="lfs"),
        pytest.param(b"\x3a\xff\xff\xff\xff\x0f", id="graph ends after the file"),
        pytest.param(b"\x3a" + b"\xff" * 12, id="endless number"),
        pytest.param(b"\x08\x0a", id="no graph"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        OnnxSignature.read(path)
    assert caught.value.problems[0].where == str(path)


def test_every_cut_of_a_model_is_refused_or_read(tmp_path: Path) -> None:
    """No cut may escape as another exception; only a cut behind the graph still reads."""
    whole = onnx.parser.parse_model(MODEL.replace("= {0}", "")).SerializeToString()
    path = tmp_path / "model.onnx"
    refused = 0
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        try:
            OnnxSignature.read(path)
        except InputError:
            refused += 1
    assert refused > len(whole) // 2
