from __future__ import annotations

import onnx
import onnx.inliner
import onnx.parser
from onnx import TensorProto

from enginewright.onnx_model.external_tensors import find_invalidity, without_unread_values
from enginewright.onnx_model.tensors import all_tensors

IN_A_CONSTANT = """
<ir_version: 10, opset_import: ["" : 23]>
graph (float[n, 4] x) => (float[a, b] y) {
  shape = Constant<value = int64[2] {2, 6}>()
  y = Reshape(x, shape)
}
"""
IN_A_BRANCH = """
<ir_version: 10, opset_import: ["" : 23]>
graph (float[n, 4] x, bool c) => (float[a, b] y) {
  y = If (c) <
    then_branch = one () => (float[e, f] p) <int64[2] shape = {2, 6}> { p = Reshape(x, shape) },
    else_branch = two () => (float[g, h] q) { q = Relu(x) }
  >
}
"""
IN_A_FUNCTION = """
<ir_version: 10, opset_import: ["" : 23, "own" : 1]>
graph (float[n, 4] x) => (float[a, b] y) { y = own.f(x) }
<domain: "own", opset_import: ["" : 23]>
f (x) => (y) {
  shape = Constant<value = int64[2] {2, 6}>()
  y = Reshape(x, shape)
}
"""


def outside(text: str) -> onnx.ModelProto:
    """The model with all its tensors in a file that is not there."""
    model = onnx.parser.parse_model(text)
    for held in all_tensors(model):
        held.tensor.ClearField("int64_data")
        held.tensor.data_location = TensorProto.EXTERNAL
        held.tensor.external_data.add(key="location", value="weights.bin")
    return model


def test_a_model_is_valid_wherever_its_weights_lie() -> None:
    for text in (IN_A_CONSTANT, IN_A_BRANCH, IN_A_FUNCTION):
        assert find_invalidity(onnx.parser.parse_model(text)) == ""
        assert find_invalidity(outside(text)) == ""


def test_what_is_wrong_is_said_in_one_line_without_a_path() -> None:
    model = outside(IN_A_BRANCH)
    model.graph.node[0].input[0] = "nobody"
    message = find_invalidity(model)
    assert "Nodes in a graph must be topologically sorted" in message
    assert "\n" not in message
    assert "/tmp" not in message


def test_types_are_inferred_without_the_files() -> None:
    for text in (IN_A_CONSTANT, IN_A_BRANCH, IN_A_FUNCTION):
        model = outside(text)
        flat = onnx.inliner.inline_local_functions(model) if model.functions else model
        readable = without_unread_values(flat)
        inferred = onnx.shape_inference.infer_shapes(readable, strict_mode=True, data_prop=True)
        assert inferred.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT
        assert [value.type.tensor_type.elem_type for value in readable.graph.input][-1] == (
            TensorProto.INT64
        )


def test_a_sparse_initializer_becomes_an_input_of_its_whole_shape() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 23]> '
        "graph (float[n, 4] x) => (float[n, 4] y) { y = MatMul(x, w) }"
    )
    sparse = model.graph.sparse_initializer.add(dims=[4, 4])
    sparse.values.CopyFrom(onnx.helper.make_tensor("w", TensorProto.FLOAT, [1], [2.0]))
    sparse.indices.CopyFrom(onnx.helper.make_tensor("", TensorProto.INT64, [1], [5]))
    dims = without_unread_values(model).graph.input[1].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [4, 4]
