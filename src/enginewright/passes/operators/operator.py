"""An operator of our domain: its meaning, and where a graph has a subgraph that means the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onnx import FunctionProto, NodeProto

from enginewright.passes.graph_index import GraphIndex

DOMAIN = "enginewright"
DOMAIN_VERSION = 1
OPSET = 23
"""Of the functions' bodies, which use RMSNormalization and RotaryEmbedding; models need it too."""


@dataclass(frozen=True)
class Match:
    """A subgraph that an operator can stand for."""

    removed: frozenset[int]
    """Places of its nodes."""
    position: int
    """Place that the new nodes take; everything that they use is made before it."""
    added: tuple[NodeProto, ...]
    """The operator's node last; before it what prepares its inputs."""

    @property
    def node(self) -> NodeProto:
        return self.added[-1]


@dataclass(frozen=True)
class Operator:
    name: str
    function: FunctionProto
    """The meaning, as a model-local function."""
    find: Callable[[GraphIndex], list[Match]]
    """Matches that do not overlap, in the order of the graph."""
