"""`quantized_model`: integer weights in place of those of an `onnx_model`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable

from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright.build_files.addresses import NamedTarget, TargetOfKind, TargetOfKindRequest
from pants_enginewright.build_files.fields import thaw
from pants_enginewright.build_files.kind import Steps
from pants_enginewright.models import onnx_model
from pants_enginewright.models.graph import Graph, GraphRequest
from pants_enginewright.models.onnx_model import MadeModel, MakeModel, MakePlainModel, Scheme
from pants_enginewright.models.targets import (
    GroupSizeField,
    KeepField,
    MethodField,
    QuantizedModelSourceField,
)
from pants_enginewright.steps.action import ActionRequest, ActionResult
from pants_enginewright.steps.step_outputs import RESULT


@dataclass(frozen=True)
class QuantizeModel(MakeModel):
    """A `quantized_model` target."""

    required_fields = (QuantizedModelSourceField, MethodField)

    model: QuantizedModelSourceField
    method: MethodField
    group_size: GroupSizeField
    keep: KeepField

    @property
    def steps(self) -> Steps:
        return Steps.of("quantize_model", environments=("onnx",))

    def scheme(self) -> Dict[str, Any]:
        """How the weights are quantized: parameters of the step."""
        return {
            "method": self.method.value,
            "group_size": self.group_size.value,
            "keep": thaw(self.keep.value),
        }


@dataclass(frozen=True)
class _Quantized:
    scheme: Scheme


@rule(desc="Quantize a model")
async def quantize_model(fields: QuantizeModel) -> MadeModel:
    named = NamedTarget.by_field(fields.model, fields.fresh)
    found = await Get(TargetOfKind, TargetOfKindRequest, named.of_kind(MakePlainModel))
    exported = await Get(MadeModel, MakePlainModel, found.of(MakePlainModel))
    result = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "quantize_model",
            address=fields.address,
            environment="onnx",
            inputs=exported.model.inputs,
            parameters=fields.scheme(),
            fresh=fields.fresh,
        ),
    )
    made = await Get(Graph, GraphRequest(result))
    report = result.files.by_path()[RESULT].at("report.json")
    return MadeModel(
        exported.model.with_graph(
            made,
            address=fields.address,
            scheme=result.read(_Quantized).scheme,
            report=(report,),
            steps=(*exported.model.steps, result),
        )
    )


def rules() -> Iterable[Any]:
    return (*collect_rules(), *QuantizeModel.rules(), *onnx_model.rules())
