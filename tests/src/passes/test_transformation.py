from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx_ir as ir
import pytest
from onnx import TensorProto, helper
from textual_model import model

from enginewright.errors import InputError, Problem
from enginewright.passes.transform_file import transform_file
from enginewright.passes.transformation import Pass, Transformed


class Rename(Pass[ir.Model, int]):
    """Renames nodes of one kind; says how many."""

    def __init__(self, op_type: str) -> None:
        self.op_type = op_type

    def requires(self, model: ir.Model, where: str) -> Iterator[Problem]:
        if model.opset_imports[""] < 23:
            yield Problem("too old", where)
        if self.op_type == "Sigmoid":
            yield Problem("not this one", where)

    def call(self, model: ir.Model) -> Transformed[ir.Model, int]:
        found = [node for node in model.graph if node.op_type == self.op_type]
        for node in found:
            node.name = "renamed"
        return Transformed(model, len(found))

    def ensures(self, done: Transformed[ir.Model, int], where: str) -> Iterator[Problem]:
        if done.report == 0:
            yield Problem("none was found", where)


def graph(folder: Path, opset: int = 23) -> Path:
    checked = model("main (float[n] x) => (float[n] y) { h = Relu(x)  y = Neg(h) }")
    checked.model.opset_import[0].version = opset
    path = folder / "some.onnx"
    path.write_bytes(checked.model.SerializeToString(deterministic=True))
    return path


def test_a_pass_runs_between_what_it_requires_and_ensures(tmp_path: Path) -> None:
    assert transform_file(graph(tmp_path), tmp_path, Rename("Relu")) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "onnx.json", "some.onnx"]


@pytest.mark.parametrize(
    ("op_type", "opset", "whats"),
    [
        ("Sigmoid", 18, ["too old", "not this one"]),
        ("Tanh", 23, ["none was found"]),
    ],
)
def test_a_condition_that_does_not_hold(
    tmp_path: Path, op_type: str, opset: int, whats: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        transform_file(graph(tmp_path, opset), tmp_path / "out", Rename(op_type))
    assert [(problem.what, problem.where) for problem in caught.value.problems] == [
        (what, "some.onnx") for what in whats
    ]
    assert not (tmp_path / "out").exists()


class Break(Rename):
    """Makes a model that is no longer valid."""

    def call(self, model: ir.Model) -> Transformed[ir.Model, int]:
        model.graph[0].op_type = "NoSuchOperator"
        return Transformed(model, 1)


class Forget(Rename):
    """Loses an output."""

    def call(self, model: ir.Model) -> Transformed[ir.Model, int]:
        model.graph.outputs.append(model.graph[0].outputs[0])
        return Transformed(model, 1)


def test_what_a_pass_makes_is_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a valid ONNX model"):
        transform_file(graph(tmp_path), tmp_path, Break("Relu"))


def test_a_pass_that_changes_the_interface_is_a_defect(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="keeps inputs and outputs"):
        transform_file(graph(tmp_path), tmp_path, Forget("Relu"))


def test_a_pass_that_changes_nothing_gives_the_same_bytes(tmp_path: Path) -> None:
    """With shapes of inner values inferred for it, which the graph did not state."""

    class Nothing(Pass[ir.Model, None]):
        def call(self, model: ir.Model) -> Transformed[ir.Model, None]:
            return Transformed(model, None)

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy")
    nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Neg", ["h"], ["y"])]
    proto = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y]),
        ir_version=10,
        opset_imports=[helper.make_opsetid("", 23)],
    )
    path = tmp_path / "some.onnx"
    path.write_bytes(proto.SerializeToString(deterministic=True))
    transform_file(path, tmp_path, Nothing())
    assert (tmp_path / "model/model.onnx").read_bytes() == path.read_bytes()
