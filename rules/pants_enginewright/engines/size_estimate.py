"""How large a model and its engine will be, from the configuration alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright import canonical_json
from pants_enginewright.models.onnx_model import OnnxModel
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.steps import action
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult


@dataclass(frozen=True)
class EstimateSize:
    address: Address
    model: OnnxModel
    profiles: str
    """Canonical JSON list of optimization profiles; may be empty."""


@dataclass(frozen=True)
class WeightSizes:
    bytes: int


@dataclass(frozen=True)
class Sizes:
    weights: WeightSizes
    kv_bytes_per_token: int
    engine_bytes: int

    def describe(self, engine: int, is_estimated: bool) -> str:
        """For people: the estimate beside the size of the engine that was built, in bytes."""
        estimated = f" ({megabytes(self.engine_bytes)} estimated)" if is_estimated else ""
        return (
            f"weights {megabytes(self.weights.bytes)}, "
            f"KV cache {self.kv_bytes_per_token:,} bytes a token, "
            f"engine {megabytes(engine)}{estimated}"
        )


@dataclass(frozen=True)
class SizeEstimate:
    step: Optional[ActionResult]
    """None for a model whose size is not estimated."""

    @property
    def steps(self) -> Tuple[ActionResult, ...]:
        return () if self.step is None else (self.step,)

    @property
    def sizes(self) -> Optional[Sizes]:
        return None if self.step is None else self.step.read(Sizes)

    def described(self) -> Any:
        """What `engine.json` says of it: all that the step says."""
        return None if self.step is None else canonical_json.loads(self.step.result)


NOT_ESTIMATED = SizeEstimate(None)


def plan_estimate(request: EstimateSize) -> Optional[ActionRequest]:
    """The step that estimates, for decoders of known families."""
    model = request.model
    kind = model.origin.kind
    if not TASKS[model.task].is_decoder or kind != "decoder":
        return None
    return ActionRequest.create(
        "estimate_size",
        address=request.address,
        inputs=[ActionInput.of("config", model.origin.config)],
        parameters={
            "dtype": model.dtype,
            "task": model.task,
            "logits": model.logits,
            "quantization": None if model.scheme is None else model.scheme.described(),
            "profiles": [
                profile
                for profile in canonical_json.loads(request.profiles)
                if {"batch", "sequence"} <= set(profile)
            ],
        },
    )


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


@rule(desc="Estimate sizes")
async def estimate_size(request: EstimateSize) -> SizeEstimate:
    wanted = plan_estimate(request)
    if wanted is None:
        return NOT_ESTIMATED
    return SizeEstimate(await Get(ActionResult, ActionRequest, wanted))


def rules() -> Iterable[Any]:
    return (
        *collect_rules(),
        *action.rules(),
    )
