"""An ONNX model, whichever target makes it."""

from __future__ import annotations

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
    environment: str
    """Kind of the tool environment that exported it."""
    graph: Files
    """`model.onnx`."""
    data: Files
    """The files that the graph's external data lie in; they belong beside it."""
    export: ActionResult
    """Its result has opset, IR version, inputs and outputs."""
    steps: Tuple[ActionResult, ...]
    quantization: Optional[ActionResult] = None
    """Its result is the report; the graph is that of `export` with other weights."""
    replacement: Optional[ActionResult] = None
    """Its result says which subgraphs became operators of our own."""

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

    def dynamic_axes(self) -> Dict[str, Dict[str, str]]:
        """Tensor name to position (as text) to name of each dynamic axis."""
        result = self.export.parsed()
        tensors = [*result["inputs"], *result["outputs"]]
        return {
            t["name"]: {str(i): n for i, n in enumerate(t["shape"]) if isinstance(n, str)}
            for t in tensors
        }


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
