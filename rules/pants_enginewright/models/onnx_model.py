"""An ONNX model, whichever target makes it."""

from __future__ import annotations

import dataclasses
from abc import ABCMeta
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, collect_rules, rule
from pants.engine.unions import union

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.kind import Kind
from pants_enginewright.compat import EnvironmentName
from pants_enginewright.models.checkpoint import Checkpoint
from pants_enginewright.models.graph import Graph
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.steps.action import ActionInput, ActionResult
from pants_enginewright.steps.files import Files


@dataclass(frozen=True)
class OnnxModelRequest(NamedTarget):
    """Asks for the model of a target that makes one."""


@dataclass(frozen=True)
class OnnxModel:
    address: Address
    checkpoint: Checkpoint
    task: str
    dtype: str
    logits: str
    """Of which positions, where it has any: `all` or `last`."""
    environment: str
    """Kind of the tool environment that exported it."""
    graph: Files
    """`model.onnx`."""
    data: Files
    """The files that the graph's external data lie in; they belong beside it."""
    record: Files
    """`onnx.json`: inputs, outputs, opsets, IR version and names of the data files."""
    steps: Tuple[ActionResult, ...]
    quantization: Optional[ActionResult] = None
    """Its result is the report."""
    replacement: Optional[ActionResult] = None
    """Its result says which subgraphs became operators of our own."""

    def with_graph(self, made: Graph, **changes: Any) -> OnnxModel:
        """The model that a transformation made of this one."""
        return dataclasses.replace(
            self, graph=made.graph, data=made.data, record=made.record, **changes
        )

    def plugins(self) -> List[Dict[str, Any]]:
        """Operators of our own, as `engine.json` describes them for a product without plugins."""
        if self.replacement is None:
            return []
        return [
            {
                "name": entry["plugin"],
                "count": entry["count"],
                "embedded": True,
                "implementation": "inlined: the product loads no plugins",
            }
            for entry in self.replacement.parsed()["replaced"]
        ]

    @property
    def inputs(self) -> Tuple[ActionInput, ActionInput]:
        """The whole model as input of a step, in one folder."""
        return (
            ActionInput.of("model", self.graph, "model"),
            ActionInput.of("model", self.data, "model"),
        )

    @property
    def scheme(self) -> Optional[Dict[str, Any]]:
        """How it was quantized: the fields of `quantized_model`."""
        if self.quantization is None:
            return None
        scheme = self.quantization.parsed()["scheme"]
        return {
            "method": f"int{scheme['bits']}",
            "group_size": scheme["group_size"],
            "keep": scheme["keep"],
        }

    @property
    def axes(self) -> Tuple[str, ...]:
        """Names of axes that its inputs must have."""
        return TASKS[self.task].axes

    @property
    def length(self) -> Optional[int]:
        """Tokens that it was made for at most; None where its configuration does not say."""
        limit = self.checkpoint.summary()["length"]
        return None if limit is None else int(limit["tokens"])


@union(in_scope_types=[EnvironmentName])
@dataclass(frozen=True)
class MakeModel(Kind, metaclass=ABCMeta):
    """Subclass for a kind of target that makes an ONNX model, and list `*X.rules()`.

    One rule takes the subclass to `MadeModel`. Whatever takes a model then takes its targets.
    """


@dataclass(frozen=True)
class MadeModel:
    model: OnnxModel


@rule
async def find_model(request: OnnxModelRequest) -> OnnxModel:
    found = await Get(TargetOfKind, TargetOfKindRequest, request.of_kind(MakeModel))
    made = await Get(MadeModel, MakeModel, found.of(MakeModel))
    return made.model


def rules() -> Iterable[Any]:
    return collect_rules()
