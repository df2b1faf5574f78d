"""An operator of our domain: its meaning, and where a graph has a subgraph that means the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import onnx_ir as ir
from onnx import FunctionProto

DOMAIN = "enginewright"
DOMAIN_VERSION = 1
OPSET = 23
"""Of the functions' bodies, which use RMSNormalization and RotaryEmbedding; models need it too."""


@dataclass(frozen=True)
class Match:
    """A subgraph that an operator can stand for."""

    removed: frozenset[ir.Node]
    position: ir.Node
    """The new nodes take its place; everything that they use is made before it."""
    outputs: tuple[ir.Value, ...]
    """Values of the subgraph that the operator's outputs replace, in its order."""
    make: Callable[[Made], tuple[ir.Node, ...]]
    """The operator's node last; before it what prepares its inputs. Is called once, when the graph
    is changed: a node that stands nowhere would count among the users of its inputs."""


Made = dict[str, ir.Value]
"""By name: what earlier matches made to prepare inputs, which later ones share."""


@dataclass(frozen=True)
class Operator:
    name: str
    function: FunctionProto
    """The meaning, as a model-local function."""
    find: Callable[[Iterable[ir.Node]], list[Match]]
    """Matches among the nodes of a graph; they do not overlap, and come in the graph's order."""


def make_node(
    op_type: str,
    inputs: Iterable[ir.Value],
    outputs: Iterable[str],
    *,
    name: str,
    domain: str = "",
    **attributes: ir.TensorProtocol | int | float,
) -> ir.Node:
    """A node whose outputs have these names; attributes are in the order of theirs."""
    values = [ir.Value(name=output) for output in outputs]
    ordered = dict(sorted(attributes.items()))
    return ir.node(op_type, list(inputs), ordered, domain=domain, outputs=values, name=name)
