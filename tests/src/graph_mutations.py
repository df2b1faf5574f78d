"""Faults of a graph, each made in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


def node(model: onnx.ModelProto, output: str) -> onnx.NodeProto:
    [found] = [item for item in model.graph.node if output in item.output]
    return found


def after(model: onnx.ModelProto, value: str, *operators: tuple[str, dict[str, Any]]) -> None:
    """Put operators of one input behind the node that computes `value`."""
    [place] = [n for n, item in enumerate(model.graph.node) if value in item.output]
    maker = model.graph.node[place]
    maker.output[[*maker.output].index(value)] = f"{value}/0"
    for number, (kind, attributes) in enumerate(operators):
        last = number + 1 == len(operators)
        output = value if last else f"{value}/{number + 1}"
        made = helper.make_node(kind, [f"{value}/{number}"], [output], **attributes)
        model.graph.node.insert(place + 1 + number, made)


def to_half_and_back(*values: str) -> Callable[[onnx.ModelProto], None]:
    def mutate(model: onnx.ModelProto) -> None:
        for value in values:
            half = ("Cast", {"to": onnx.TensorProto.FLOAT16})
            after(model, value, half, ("Cast", {"to": onnx.TensorProto.FLOAT}))

    return mutate


def half_frequencies(model: onnx.ModelProto) -> None:
    [found] = [t for t in model.graph.initializer if t.name == "rotary.inverse_frequencies"]
    rounded = numpy_helper.to_array(found).astype(np.float16).astype(np.float32)
    found.CopyFrom(numpy_helper.from_array(rounded, found.name))


def scale_logits(model: onnx.ModelProto) -> None:
    factor = constant(model, "eight", np.array(8, np.float32))
    node(model, "logits").output[0] = "logits/0"
    model.graph.node.append(helper.make_node("Mul", ["logits/0", factor], ["logits"]))


def shift_logits(model: onnx.ModelProto) -> None:
    """The logits of each token are those of the one after it, as when a shift is done twice."""
    bounds = [constant(model, f"shift.{n}", np.array([n], np.int64)) for n in (1, 1 << 40, 1, 0)]
    last = constant(model, "shift.last", np.array([-1], np.int64))
    axis = bounds[0]
    node(model, "logits").output[0] = "logits/0"
    make = helper.make_node
    model.graph.node.extend(
        [
            make("Slice", ["logits/0", bounds[0], bounds[1], axis], ["logits/rest"]),
            make("Slice", ["logits/0", last, bounds[1], axis], ["logits/end"]),
            make("Concat", ["logits/rest", "logits/end"], ["logits"], axis=1),
        ]
    )


def see_one_token_ahead(model: onnx.ModelProto) -> None:
    one = constant(model, "ahead", np.array(1, np.int64))
    for item in [*model.graph.node]:
        if item.op_type == "LessOrEqual":
            place = [*model.graph.node].index(item)
            ahead = f"{item.output[0]}/ahead"
            made = helper.make_node("Add", [item.input[1], one], [ahead])
            item.input[1] = ahead
            model.graph.node.insert(place, made)


def swap_cache(model: onnx.ModelProto) -> None:
    """Keys come out as values and values as keys: they have the same shape."""
    key, value = "present.0.key", "present.0.value"
    other = {key: value, value: key}
    # Read through the true one: what the layer itself attends to stays right.
    for item in model.graph.node:
        item.output[:] = [f"{name}/true" if name in other else name for name in item.output]
        item.input[:] = [f"{name}/true" if name in other else name for name in item.input]
    for name, source in other.items():
        model.graph.node.append(helper.make_node("Identity", [f"{source}/true"], [name]))


def positions_of_the_call(model: onnx.ModelProto) -> None:
    """Positions count from 0 in each call, whatever is in the cache."""
    for item in model.graph.node:
        item.input[:] = ["position_ids/own" if v == "position_ids" else v for v in item.input]
    one, zero = (constant(model, f"position/{n}", np.array(n, np.int64)) for n in (1, 0))
    axis = constant(model, "position/axis", np.array(1, np.int64))
    make = helper.make_node
    nodes = [
        make("Mul", ["position_ids", zero], ["position/zeros"]),
        make("Add", ["position/zeros", one], ["position/ones"]),
        make("CumSum", ["position/ones", axis], ["position/counted"]),
        make("Sub", ["position/counted", one], ["position_ids/own"]),
    ]
    for place, item in enumerate(nodes):
        model.graph.node.insert(place, item)


def constant(model: onnx.ModelProto, name: str, value: np.ndarray) -> str:
    model.graph.initializer.append(numpy_helper.from_array(value, name))
    return name


def ignore_input(name: str) -> Callable[[onnx.ModelProto], None]:
    """All ones in the place of an input, in its shape."""

    def mutate(model: onnx.ModelProto) -> None:
        zero, one = (constant(model, f"{name}/{n}", np.array(n, np.int64)) for n in (0, 1))
        for item in model.graph.node:
            item.input[:] = [f"{name}/ones" if value == name else value for value in item.input]
        make = helper.make_node
        model.graph.node.insert(0, make("Add", [f"{name}/zeros", one], [f"{name}/ones"]))
        model.graph.node.insert(0, make("Mul", [name, zero], [f"{name}/zeros"]))

    return mutate
