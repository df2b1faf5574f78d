"""A sound model, and ways to make it wrong: each is found, by the step that can, with its place.

The model is a small decoder's beginning: rotary tables from positions, a linear layer with a bias,
a norm and a mask, in float16 with its weights outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper
from textual_model import model

from enginewright.actions import check_graph, check_weights
from enginewright.errors import InputError
from enginewright.hashing import FileDigest
from enginewright.onnx_model.description import describe
from enginewright.onnx_model.tensors import all_tensors
from enginewright.step import ActionRequest, InputFile

LENGTH = 4096
DATA = "model.onnx.data"
TEXT = """main (float16[batch, sequence, 8] x, int64[batch, sequence] position_ids,
      int64[batch, sequence] attention_mask)
    => (float16[batch, sequence, 8] y, float16[batch, sequence, 4] cosine) {
    column = Unsqueeze(position_ids, last)
    positions = Cast <to = 1> (column)
    angles = Mul(positions, frequencies)
    wide_cosine = Cos(angles)
    cosine = Cast <to = 10> (wide_cosine)
    product = MatMul(x, weight)
    projected = Add(product, bias)
    normed = RMSNormalization <stash_type = 1> (projected, scale)
    there = Cast <to = 10> (attention_mask)
    absent = Sub(one, there)
    hidden = Mul(absent, masked)
    hidden_column = Unsqueeze(hidden, last)
    y = Add(normed, hidden_column)
}"""
SHAPE = np.random.default_rng(0)
CONSTANTS: Mapping[str, np.ndarray] = {
    "last": np.array([2]),
    "frequencies": np.array([1.0, 0.1, 0.01, 0.001], np.float32),
    "one": np.array(1, np.float16),
    "masked": np.array(-30000, np.float16),
}
WEIGHTS: Mapping[str, np.ndarray] = {
    "weight": SHAPE.normal(size=(8, 8)).astype(np.float16),
    "bias": SHAPE.normal(size=8).astype(np.float16),
    "scale": SHAPE.normal(size=8).astype(np.float16),
}


class Mutant:
    """The model in a folder; a test changes it, and asks the steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = model(TEXT, {**CONSTANTS, **WEIGHTS}).model
        self.data = b""
        for held in all_tensors(self.model):
            if held.name in WEIGHTS:
                array = numpy_helper.to_array(held.tensor).tobytes()
                self.place(held.tensor, len(self.data), len(array))
                self.data += array.ljust(256, b"\0")

    def place(self, tensor: TensorProto, offset: int, length: int) -> None:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        del tensor.external_data[:]
        entries = {"location": DATA, "offset": str(offset), "length": str(length)}
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)

    def node(self, output: str) -> NodeProto:
        return next(node for node in self.model.graph.node if output in node.output)

    def tensor(self, name: str) -> TensorProto:
        return next(held.tensor for held in all_tensors(self.model) if held.name == name)

    def checks(self) -> str:
        """What both steps say against it, and warn of."""
        paths = {
            "model": self.folder / "model.onnx",
            "record": self.folder / "onnx.json",
            "data": self.folder / DATA,
        }
        paths["model"].write_bytes(self.model.SerializeToString())
        paths["data"].write_bytes(self.data)
        if not paths["record"].exists():
            describe(self.model).write(self.folder)
        files = {role: (InputFile(path, FileDigest.of(path)),) for role, path in paths.items()}
        graph = {"model": files["model"], "record": files["record"]}
        parameters = {
            "dynamic_axes": ["batch", "sequence"],
            "dtype": "float16",
            "reader": None,
            "length": LENGTH,
        }
        said = []
        for step, inputs, given in (
            (check_graph, graph, parameters),
            (check_weights, {"model": files["model"], "data": files["data"]}, {"dtype": "float16"}),
        ):
            try:
                said += step.run(ActionRequest("check", inputs, given), self.folder)["warnings"]
            except InputError as error:
                said.append(str(error))
        return "\n".join(said)


def half_angles(mutant: Mutant) -> None:
    mutant.node("positions").attribute[0].i = TensorProto.FLOAT16
    half = numpy_helper.from_array(CONSTANTS["frequencies"].astype(np.float16), "frequencies")
    mutant.tensor("frequencies").CopyFrom(half)
    mutant.model.graph.node.remove(mutant.node("cosine"))
    mutant.node("wide_cosine").output[0] = "cosine"


def half_positions(mutant: Mutant) -> None:
    """Cast back to float32 before they meet the frequencies."""
    node = mutant.node("positions")
    node.attribute[0].i, node.output[0] = TensorProto.FLOAT16, "half"
    wide = onnx.helper.make_node("Cast", ["half"], ["positions"], to=TensorProto.FLOAT)
    place = list(mutant.model.graph.node).index(node)
    mutant.model.graph.node.insert(place + 1, wide)


def no_bias(mutant: Mutant) -> None:
    mutant.model.graph.node.remove(mutant.node("projected"))
    mutant.node("product").output[0] = "projected"


def no_bias_and_no_tensor(mutant: Mutant) -> None:
    no_bias(mutant)
    mutant.model.graph.initializer.remove(mutant.tensor("bias"))


def infinite_mask(mutant: Mutant) -> None:
    tensor = mutant.tensor("masked")
    tensor.CopyFrom(numpy_helper.from_array(np.array(-np.inf, np.float16), "masked"))


def mask_beyond_half(mutant: Mutant) -> None:
    wide = numpy_helper.from_array(np.array(-1e9, np.float32), "wide_mask")
    mutant.model.graph.initializer.append(wide)
    cast = onnx.helper.make_node("Cast", ["wide_mask"], ["masked"], to=TensorProto.FLOAT16)
    mutant.model.graph.initializer.remove(mutant.tensor("masked"))
    mutant.model.graph.node.insert(0, cast)


def half_norm(mutant: Mutant) -> None:
    node = mutant.node("normed")
    node.attribute[0].i = TensorProto.FLOAT16


def fixed_batch(mutant: Mutant) -> None:
    for value in mutant.model.graph.input:
        value.type.tensor_type.shape.dim[0].dim_value = 1


def swapped_places(mutant: Mutant) -> None:
    """The bias reads the end of the weight."""
    mutant.place(mutant.tensor("bias"), 120, 16)


def wrong_length(mutant: Mutant) -> None:
    mutant.place(mutant.tensor("bias"), 256, 8)


def elsewhere(mutant: Mutant) -> None:
    mutant.tensor("bias").external_data[0].value = "other.data"


def outside(mutant: Mutant) -> None:
    mutant.tensor("bias").external_data[0].value = "../model.onnx.data"


def truncated(mutant: Mutant) -> None:
    mutant.data = mutant.data[:520]


def not_a_number(mutant: Mutant) -> None:
    nan = np.array(np.nan, np.float16).tobytes()
    mutant.data = nan + mutant.data[2:]


def other_type(mutant: Mutant) -> None:
    for name in ("weight", "bias", "scale"):
        mutant.tensor(name).data_type = TensorProto.BFLOAT16


def record_of_another(mutant: Mutant) -> None:
    describe(mutant.model).write(mutant.folder)
    mutant.model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 16
    mutant.model.graph.output[0].type.tensor_type.shape.dim[2].dim_value = 16


def unknown_value(mutant: Mutant) -> None:
    mutant.node("y").input[1] = "nobody"


MUTATIONS: list[tuple[Callable[[Mutant], None], str, str]] = [
    (half_angles, "angles are half precision", "node `angles` (Mul), tensor `angles`"),
    (half_positions, "positions are half precision", "node `half` (Cast), tensor `half`"),
    (no_bias, "a weight is not used by any node", "initializer `bias`"),
    (no_bias_and_no_tensor, "belong to no tensor of the graph", "bytes 128 to 512"),
    (infinite_mask, "beyond the range of float16", "constant `masked`"),
    (mask_beyond_half, "beyond the range of float16", "constant `wide_mask`"),
    (half_norm, "a norm overflows in float16", "node `normed` (RMSNormalization)"),
    (fixed_batch, "a declared dynamic axis is not dynamic", "an input with a dimension `batch`"),
    (swapped_places, "external tensors overlap", "tensor `bias`"),
    (wrong_length, "does not match dtype and shape", "tensor `bias`"),
    (elsewhere, "a file of external data is missing", "`other.data`"),
    (outside, "must lie beside or below the graph file", "tensor `bias`"),
    (truncated, "external data ends before the tensor does", "tensor `scale`"),
    (not_a_number, "weights are not finite", "tensor `weight`"),
    (other_type, "another dtype than the model was made for", "bfloat16: 80 elements"),
    (record_of_another, "the record is not that of this graph", "onnx.json, inputs"),
    (unknown_value, "the graph is not valid ONNX", "nobody"),
]


def test_the_model_itself_is_sound(tmp_path: Path) -> None:
    assert Mutant(tmp_path).checks() == ""


@pytest.mark.parametrize(
    ("mutate", "what", "place"), MUTATIONS, ids=[mutate.__name__ for mutate, _, _ in MUTATIONS]
)
def test_each_way_to_make_it_wrong_is_found(
    tmp_path: Path, mutate: Callable[[Mutant], None], what: str, place: str
) -> None:
    mutant = Mutant(tmp_path)
    mutate(mutant)
    said = mutant.checks()
    assert what in said
    assert place in said


def in_an_attribute(model: ModelProto) -> None:
    tensor = next(one for one in model.graph.initializer if one.name == "weight")
    model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["weight"], value=tensor))
    model.graph.initializer.remove(tensor)


def in_a_function(model: ModelProto) -> None:
    in_an_attribute(model)
    constant = model.graph.node.pop(0)
    product = next(node for node in model.graph.node if "product" in node.output)
    body = [constant, onnx.helper.make_node("MatMul", ["x", "weight"], ["product"])]
    opsets = [onnx.helper.make_opsetid("", 23)]
    made = onnx.helper.make_function("own", "linear", ["x"], ["product"], body, opsets)
    model.functions.append(made)
    product.op_type, product.domain = "linear", "own"
    product.input.pop()


@pytest.mark.parametrize("move", [in_an_attribute, in_a_function])
def test_weights_elsewhere_in_the_model_are_checked_alike(
    tmp_path: Path, move: Callable[[ModelProto], None]
) -> None:
    """A valid model whose weights lie in an attribute was called "not valid ONNX"."""
    mutant = Mutant(tmp_path)
    move(mutant.model)
    assert mutant.checks() == ""
    not_a_number(mutant)
    assert "weights are not finite" in mutant.checks()
