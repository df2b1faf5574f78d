"""Replace subgraphs of a model by operators of our domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir
from onnx import inliner
from onnx_ir.passes import common

from enginewright.errors import Problem
from enginewright.passes.operators import add_rms_norm, rms_norm, rotary, swiglu
from enginewright.passes.operators.operator import (
    DOMAIN,
    DOMAIN_VERSION,
    OPSET,
    Made,
    Match,
    Operator,
)
from enginewright.passes.transformation import Pass, Transformed

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


@dataclass(frozen=True)
class ReplaceSubgraphs(Pass[ir.Model, tuple[Replaced, ...]]):
    """The subgraphs that the named operators mean become nodes of our domain."""

    plugins: tuple[str, ...]
    """Keys of `OPERATORS`."""
    mode: str = "kernel"
    """`kernel` leaves nodes of our domain with a model-local function as their meaning; `inline`
    puts that meaning in their place."""

    def requires(self, model: ir.Model, where: str) -> Iterator[Problem]:
        """Known names, and a model of an opset that has the operators' meaning."""
        known = ", ".join(OPERATORS)
        for name in self.plugins:
            if name not in OPERATORS:
                yield Problem("unknown plugin", "plugins", f"one of {known}", repr(name))
        if not self.plugins:
            yield Problem("no plugin is named", "plugins", f"some of {known}")
        if self.mode not in MODES:
            yield Problem("unknown mode", "mode", f"one of {', '.join(MODES)}", repr(self.mode))
        opset = model.opset_imports.get("", 0)
        if opset < OPSET:
            yield Problem(
                "plugins need a newer opset",
                where,
                f"{OPSET} or newer",
                str(opset),
                f"Export the model with opset={OPSET}.",
            )

    def call(self, model: ir.Model) -> Transformed[ir.Model, tuple[Replaced, ...]]:
        """Shapes of inner values must be known: patterns tell an addition from a broadcast."""
        wanted = [operator for name, operator in OPERATORS.items() if name in self.plugins]
        found = tuple(_replace(model, operator) for operator in wanted)
        if self.mode == "inline":
            model = _inline(model, found)
        return Transformed(model, found)

    def ensures(
        self, done: Transformed[ir.Model, tuple[Replaced, ...]], where: str
    ) -> Iterator[Problem]:
        """Each operator has replaced something."""
        for one in done.report:
            if not one.nodes:
                yield Problem(
                    f"plugin `{one.plugin}` matches no subgraph of the model",
                    where,
                    "one or more matches",
                    "0",
                    f"Remove `{one.plugin}` from `plugins`.{self._hint(one.plugin)}",
                )

    def _hint(self, plugin: str) -> str:
        if plugin == "rms_norm" and "add_rms_norm" in self.plugins:
            return " `add_rms_norm` takes the norms that follow an addition."
        return ""


def _replace(model: ir.Model, operator: Operator) -> Replaced:
    matches = operator.find(list(model.graph))
    made: Made = {}
    nodes = [_apply(model.graph, match, made) for match in matches]
    if matches:
        # What only fed the replaced nodes is needed no more.
        common.RemoveUnusedNodesPass()(model)
        model.opset_imports.setdefault(DOMAIN, DOMAIN_VERSION)
        function = ir.serde.deserialize_function(operator.function)
        model.functions[function.identifier()] = function
    return Replaced(operator.name, tuple(str(node.name) for node in nodes))


def _apply(graph: ir.Graph, match: Match, made: Made) -> ir.Node:
    added = match.make(made)
    graph.insert_before(match.position, added)
    ir.convenience.replace_nodes_and_values(
        graph, added[-1], list(match.removed), [], match.outputs, added[-1].outputs
    )
    return added[-1]


def _inline(model: ir.Model, found: tuple[Replaced, ...]) -> ir.Model:
    identifiers = [(DOMAIN, one.plugin) for one in found if one.nodes]
    inlined = ir.from_proto(inliner.inline_selected_functions(ir.to_proto(model), identifiers))
    inlined.opset_imports.pop(DOMAIN, None)
    return inlined
