"""Replace subgraphs of a model by operators of our domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import ModelProto, NodeProto, helper, inliner

from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.onnx_model.external_tensors import find_invalidity
from enginewright.passes.graph_index import GraphIndex
from enginewright.passes.operators import add_rms_norm, rms_norm, rotary, swiglu
from enginewright.passes.operators.operator import DOMAIN, DOMAIN_VERSION, OPSET, Operator

# In the order in which they are looked for: what covers more comes first.
OPERATORS = {
    module.OPERATOR.name: module.OPERATOR for module in (add_rms_norm, rms_norm, swiglu, rotary)
}
MODES = ("kernel", "inline")


@dataclass(frozen=True)
class Replaced:
    """What an operator replaced."""

    plugin: str
    nodes: tuple[str, ...]
    """Names of its nodes, in the order of the graph."""

    def to_json(self) -> dict[str, Any]:
        return {"plugin": self.plugin, "count": len(self.nodes), "nodes": list(self.nodes)}


def replace_subgraphs(
    model: ModelProto, plugins: Sequence[str], mode: str, where: str
) -> tuple[ModelProto, tuple[Replaced, ...]]:
    """The model with the subgraphs that the named operators mean replaced; `model` is changed.

    `mode` is `kernel`, which leaves nodes of our domain with a model-local function as their
    meaning, or `inline`, which puts that meaning in their place. Raise `InputError` for unknown
    names, a model of an older opset, and operators that match nothing.
    """
    _check(model, plugins, mode, where)
    found = []
    for name, operator in OPERATORS.items():
        if name in plugins:
            nodes = _replace(model, operator)
            found.append(Replaced(name, tuple(node.name for node in nodes)))
    raise_if_any(
        [
            Problem(
                f"plugin `{one.plugin}` matches no subgraph of the model",
                where,
                "one or more matches",
                "0",
                f"Remove `{one.plugin}` from `plugins`."
                + (
                    " `add_rms_norm` takes the norms that follow an addition."
                    if one.plugin == "rms_norm" and "add_rms_norm" in plugins
                    else ""
                ),
            )
            for one in found
            if not one.nodes
        ]
    )
    if mode == "inline":
        identifiers = [(DOMAIN, one.plugin) for one in found]
        model = inliner.inline_selected_functions(model, identifiers)
        kept = [opset for opset in model.opset_import if opset.domain != DOMAIN]
        del model.opset_import[:]
        model.opset_import.extend(kept)
    invalid = find_invalidity(model)
    if invalid:
        raise InputError(Problem("not a valid ONNX model", where, actual=invalid))
    return model, tuple(found)


def _check(model: ModelProto, plugins: Sequence[str], mode: str, where: str) -> None:
    known = ", ".join(OPERATORS)
    problems = [
        Problem("unknown plugin", "plugins", f"one of {known}", repr(name))
        for name in plugins
        if name not in OPERATORS
    ]
    if not plugins:
        problems.append(Problem("no plugin is named", "plugins", f"some of {known}"))
    if mode not in MODES:
        problems.append(Problem("unknown mode", "mode", f"one of {', '.join(MODES)}", repr(mode)))
    opset = max(
        (one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), default=0
    )
    if opset < OPSET:
        problems.append(
            Problem(
                "plugins need a newer opset",
                where,
                f"{OPSET} or newer",
                str(opset),
                f"Export the model with opset={OPSET}.",
            )
        )
    raise_if_any(problems)


def _replace(model: ModelProto, operator: Operator) -> list[NodeProto]:
    # A writer may leave shapes out; patterns need them to tell an addition from a broadcast.
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    index = GraphIndex(model.graph, inferred.graph.value_info)
    matches = operator.find(index)
    if not matches:
        return []
    at = {match.position: match.added for match in matches}
    removed = frozenset().union(*(match.removed for match in matches))
    nodes: list[NodeProto] = []
    for place, node in enumerate(index.nodes):
        nodes.extend(at.get(place, ()))
        if place not in removed:
            nodes.append(node)
    kept = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(_needed(model, kept))
    if not any(one.domain == DOMAIN for one in model.opset_import):
        model.opset_import.append(helper.make_opsetid(DOMAIN, DOMAIN_VERSION))
    model.functions.append(operator.function)
    return [match.node for match in matches]


def _needed(model: ModelProto, nodes: list[NodeProto]) -> list[NodeProto]:
    """Without nodes and constants that only fed what was replaced, and descriptions of those."""
    index = GraphIndex(onnx.GraphProto(node=nodes, output=model.graph.output))
    needed = set(index.needed)
    kept: list[NodeProto] = []
    for node in reversed(index.nodes):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    made = {name for node in kept for name in node.output}
    described = [value for value in model.graph.value_info if value.name in made]
    constants = [tensor for tensor in model.graph.initializer if tensor.name in needed]
    del model.graph.initializer[:]
    model.graph.initializer.extend(constants)
    del model.graph.value_info[:]
    model.graph.value_info.extend(described)
    return kept[::-1]
