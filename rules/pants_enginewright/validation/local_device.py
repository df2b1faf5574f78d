"""The GPU of this host, asked for anew in each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Optional

from pants.engine.addresses import Address
from pants.engine.rules import Get, collect_rules, rule

from pants_enginewright import canonical_json
from pants_enginewright.steps import action
from pants_enginewright.steps.action import ActionRequest, ActionResult


@dataclass(frozen=True)
class LocalDeviceRequest:
    address: Address
    """The test that asks."""


@dataclass(frozen=True)
class LocalDevice:
    name: Optional[str]
    """None where there is none."""
    reason: str
    """Why there is none."""
    facts: str
    """Canonical JSON: what of it can change a measurement; `null` where there is none."""
    step: ActionResult


@dataclass(frozen=True)
class _Device:
    name: str


@dataclass(frozen=True)
class _Found:
    device: Optional[_Device]
    reason: str


@dataclass(frozen=True)
class _Facts:
    device: Any


@rule
async def find_local_device(request: LocalDeviceRequest) -> LocalDevice:
    step = await Get(
        ActionResult,
        ActionRequest,
        ActionRequest.create(
            "find_device",
            address=request.address,
            environment="host",
            # No key has the host's hardware.
            fresh=True,
        ),
    )
    found = step.read(_Found)
    name = None if found.device is None else found.device.name
    return LocalDevice(name, found.reason, canonical_json.dumps(step.read(_Facts).device), step)


def rules() -> Iterable[Any]:
    return (*collect_rules(), *action.rules())
