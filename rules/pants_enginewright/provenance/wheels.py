"""What the wheels of an environment are, in their own words; asked once for each lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable

from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright import canonical_json
from pants_enginewright.steps import action
from pants_enginewright.steps.action import ActionInput, ActionRequest, ActionResult
from pants_enginewright.steps.files import Files


@dataclass(frozen=True)
class ListWheels:
    address: str
    """The target that has them."""
    wheels: Files


@dataclass(frozen=True)
class ListedWheels:
    address: str
    step: ActionResult

    def described(self) -> Dict[str, Any]:
        """As the step `write_provenance` takes it: all that the step says."""
        return {"address": self.address, **canonical_json.loads(self.step.result)}


@rule
async def list_wheels(request: ListWheels) -> ListedWheels:
    step = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "list_wheels",
            address=request.address,
            inputs=[ActionInput.of("wheels", request.wheels)],
        ),
    )
    return ListedWheels(request.address, step)


def rules() -> Iterable[Any]:
    return (*collect_rules(), *action.rules())
