"""An ONNX model, whichever target makes it."""

from __future__ import annotations

import dataclasses
from abc import ABCMeta
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.unions import union

from pants_enginewright.build_files import addresses
from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.kind import Kind
from pants_enginewright.compat import EnvironmentName
from pants_enginewright.models import graph
from pants_enginewright.models.graph import Graph
from pants_enginewright.models.origin import Origin
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.steps.action import ActionInput, ActionResult
from pants_enginewright.steps.files import File, Files


@dataclass(frozen=True)
class OnnxModelRequest(NamedTarget):
    """Asks for the model of a target that makes one."""


@dataclass(frozen=True)
class Scheme:
    """How weights were quantized."""

    bits: int
    group_size: Optional[int]
    keep: Tuple[str, ...]

    def described(self) -> Dict[str, Any]:
        """As the fields of a `quantized_model` say it."""
        return {
            "method": f"int{self.bits}",
            "group_size": self.group_size,
            "keep": list(self.keep),
        }


@dataclass(frozen=True)
class ReplacedSubgraphs:
    plugin: str
    """The operator of our own that took their place."""
    count: int
    library: str = ""
    """File of the package with its kernels; empty where its meaning took its place."""

    def described(self) -> Dict[str, Any]:
        """As `engine.json` says it."""
        if self.library:
            return {
                "name": self.plugin,
                "count": self.count,
                "embedded": False,
                "path": self.library,
                "implementation": "kernel",
            }
        return {
            "name": self.plugin,
            "count": self.count,
            "embedded": True,
            "implementation": "inlined: the engine has no library of operators",
        }


@dataclass(frozen=True)
class OnnxModel:
    address: Address
    origin: Origin
    task: str
    dtype: Optional[str]
    """Of most of its weights; None where none is a floating-point number."""
    logits: str
    """Of which positions, where it has any: `all` or `last`."""
    environment: str
    """Kind of the tool environment that made its graph."""
    graph: Files
    """`model.onnx`."""
    data: Files
    """The files that the graph's external data lie in; they belong beside it."""
    record: Files
    """`onnx.json`: inputs, outputs, opsets, IR version and names of the data files."""
    steps: Tuple[ActionResult, ...]
    scheme: Optional[Scheme] = None
    """How its weights were quantized."""
    report: Tuple[File, ...] = ()
    """`report.json`, where a transformation tells what became of each weight."""
    replaced: Tuple[ReplacedSubgraphs, ...] = ()

    def with_graph(self, made: Graph, **changes: Any) -> OnnxModel:
        """The model that a transformation made of this one."""
        return dataclasses.replace(
            self, graph=made.graph, data=made.data, record=made.record, **changes
        )

    @property
    def inputs(self) -> Tuple[ActionInput, ActionInput]:
        """The whole model as input of a step, in one folder."""
        return (
            ActionInput.of("model", self.graph, "model"),
            ActionInput.of("model", self.data, "model"),
        )

    @property
    def described_inputs(self) -> Tuple[ActionInput, ...]:
        """The whole model with its record, which follows from the graph."""
        return (*self.inputs, ActionInput.of("record", self.record))

    @property
    def axes(self) -> Tuple[str, ...]:
        """Names of axes that its inputs must have."""
        return TASKS[self.task].axes

    @property
    def length(self) -> Optional[int]:
        """Tokens that it was made for at most; None where its configuration does not say."""
        limit = self.origin.length
        return None if limit is None else limit.tokens


@union(in_scope_types=[EnvironmentName])
@dataclass(frozen=True)
class MakeModel(Kind, metaclass=ABCMeta):
    """Subclass for a kind of target that makes an ONNX model, and list `*X.rules()`.

    One rule takes the subclass to `MadeModel`. Whatever takes a model then takes its targets.
    """


@union(in_scope_types=[EnvironmentName])
@dataclass(frozen=True)
class MakePlainModel(MakeModel, metaclass=ABCMeta):
    """A kind whose models have the weights of their origin: what can be quantized."""


@dataclass(frozen=True)
class MadeModel:
    model: OnnxModel


@rule
async def find_model(request: OnnxModelRequest) -> OnnxModel:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(MakeModel))
    made = await Get(MadeModel, MakeModel, found.of(MakeModel))
    return made.model


def rules() -> Iterable[Any]:
    return (*collect_rules(), *addresses.rules(), *graph.rules())
