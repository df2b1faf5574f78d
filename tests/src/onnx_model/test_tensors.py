from __future__ import annotations

import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper

from enginewright.onnx_model.tensors import all_nodes, all_tensors, external_files

EVERYWHERE = """
<ir_version: 10, opset_import: ["" : 23, "own" : 1]>
graph (float[n] x, bool c) => (float[n] y)
<float[1] initializer = {1}>
{
  constant = Constant<value = float[1] {2}>()
  chosen = If (c) <
    then_branch = then () => (float[1] a) <float[1] in_branch = {3}> {
      a = Add(in_branch, constant)
    },
    else_branch = otherwise () => (float[1] b) {
      b = If (c) <
        then_branch = deep () => (float[1] d) { d = Constant<value = float[1] {4}>() },
        else_branch = deeper () => (float[1] e) { e = Identity(initializer) }
      >
    }
  >
  added = own.shift (chosen)
  y = Add(x, added)
}
<domain: "own", opset_import: ["" : 23]>
shift (x) => (y)
{
  five = Constant<value = float[1] {5}>()
  y = Add(x, five)
}
"""


def everywhere() -> ModelProto:
    model = onnx.parser.parse_model(EVERYWHERE)
    sparse = model.graph.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(helper.make_tensor("sparse", TensorProto.FLOAT, [1], [6.0]))
    sparse.indices.CopyFrom(helper.make_tensor("", TensorProto.INT64, [1], [2]))
    held = helper.make_tensor("in list", TensorProto.FLOAT, [1], [7.0])
    model.functions[0].node[0].attribute.append(helper.make_attribute("more", [held]))
    model.functions[0].attribute_proto.append(
        helper.make_attribute("by_default", helper.make_tensor("", TensorProto.FLOAT, [1], [8.0]))
    )
    return model


def test_each_tensor_is_found_once_wherever_it_stands() -> None:
    found = [
        (held.name, held.tensor.float_data[0])
        for held in all_tensors(everywhere())
        if held.tensor.data_type == TensorProto.FLOAT
    ]
    assert found == [
        ("initializer", 1.0),
        ("sparse", 6.0),
        ("attribute `value` of node `constant`", 2.0),
        ("in_branch", 3.0),
        ("attribute `value` of node `d`", 4.0),
        ("attribute `by_default` of `shift`", 8.0),
        ("attribute `value` of node `five`", 5.0),
        ("in list", 7.0),
    ]


def test_only_initializers_of_the_main_graph_are_at_the_top() -> None:
    assert [held.name for held in all_tensors(everywhere()) if held.is_top] == ["initializer"]


def test_all_nodes_are_those_of_branches_and_functions_too() -> None:
    assert [node.output[0] for node in all_nodes(everywhere())] == [
        "constant", "chosen", "a", "b", "d", "e", "added", "y", "five", "y",
    ]  # fmt: skip


@pytest.mark.parametrize("position", range(9))
def test_the_file_of_each_external_tensor_is_found(position: int) -> None:
    model = everywhere()
    tensor = list(all_tensors(model))[position].tensor
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    assert external_files(model) == ("weights.bin",)
