"""How large a model and its engine will be, from the configuration alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple

from pants.engine.addresses import Address
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright import canonical_json
from pants_enginewright.models.onnx_model import OnnxModel
from pants_enginewright.models.tasks import TASKS
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult

DECODER_FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
"""Values of `model_type` whose tensors follow from the configuration."""


@dataclass(frozen=True)
class EstimateSize:
    address: Address
    model: OnnxModel
    profiles: str
    """Canonical JSON list of optimization profiles; may be empty."""


@dataclass(frozen=True)
class SizeEstimate:
    step: Optional[ActionResult]
    """None for a model whose size is not estimated."""

    @property
    def steps(self) -> Tuple[ActionResult, ...]:
        return () if self.step is None else (self.step,)

    def parsed(self) -> Optional[Dict[str, Any]]:
        return None if self.step is None else self.step.parsed()


def plan_estimate(request: EstimateSize) -> Optional[ActionRequest]:
    """The step that estimates, for decoders of known families."""
    model = request.model
    summary = model.checkpoint.summary()
    if not TASKS[model.task].is_decoder or summary["model_type"] not in DECODER_FAMILIES:
        return None
    return ActionRequest.create(
        "estimate_size",
        address=request.address,
        inputs=[ActionInput.of("config", model.checkpoint.config)],
        parameters={
            "dtype": model.dtype,
            "task": model.task,
            "logits": model.logits,
            "quantization": model.scheme,
            "profiles": [
                profile
                for profile in canonical_json.loads(request.profiles)
                if {"batch", "sequence"} <= set(profile)
            ],
        },
    )


def describe_sizes(estimate: Dict[str, Any], engine: int, is_plan: bool) -> str:
    """For people: the estimate beside the size of the engine that was built, in bytes.

    What the estimate says of the engine is meant for a plan.
    """
    estimated = f" ({megabytes(estimate['engine_bytes'])} estimated)" if is_plan else ""
    return (
        f"weights {megabytes(estimate['weights']['bytes'])}, "
        f"KV cache {estimate['kv_bytes_per_token']:,} bytes a token, "
        f"engine {megabytes(engine)}{estimated}"
    )


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


@rule(desc="Estimate sizes")
async def estimate_size(request: EstimateSize) -> SizeEstimate:
    wanted = plan_estimate(request)
    if wanted is None:
        return SizeEstimate(None)
    return SizeEstimate(await Get(ActionResult, ActionRequest, wanted))


def rules() -> Iterable[Any]:
    return collect_rules()
